<?php

declare(strict_types=1);

namespace Acme\Orders;

use PHPUnit\Framework\TestCase;

/** Its tear-down throws after each test. */
final class BrokenTearDownTest extends TestCase
{
    protected function tearDown(): void
    {
        throw new \RuntimeException('tear-down broke');
    }

    // The body passes.
    public function testPassesThenTearDownBreaks(): void
    {
        $this->assertTrue(true);
    }

    // The body fails, and then the tear-down throws too.
    public function testFailsThenTearDownBreaks(): void
    {
        $this->fail('the body failed');
    }
}
