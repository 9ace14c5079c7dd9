<?php

declare(strict_types=1);

namespace Acme\Orders;

use PHPUnit\Framework\TestCase;

/** Its set-up throws before each test. */
final class BrokenSetUpTest extends TestCase
{
    protected function setUp(): void
    {
        throw new \RuntimeException('set-up broke: cannot reach <db> & co');
    }

    // Never runs: see the set-up.
    public function testNeverRuns(): void
    {
        $this->assertTrue(true);
    }
}
