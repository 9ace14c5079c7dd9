<?php

declare(strict_types=1);

namespace Acme\Orders;

use PHPUnit\Framework\TestCase;

/** The set-up of the whole class throws. */
final class BrokenClassTest extends TestCase
{
    public static function setUpBeforeClass(): void
    {
        throw new \RuntimeException("the class's set-up broke");
    }

    // Never runs: see the set-up.
    public function testNeverRuns(): void
    {
        $this->assertTrue(true);
    }
}
