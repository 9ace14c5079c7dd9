<?php
// One test for each thing that PHPUnit's JUnit log can express.

declare(strict_types=1);

namespace Acme\Orders;

use PHPUnit\Framework\TestCase;

final class OrdersTest extends TestCase
{
    // The plain green case, with no output.
    public function testPasses(): void
    {
        $this->assertSame(4, 2 + 2);
    }

    // Everything an XML writer must escape, over more than one line.
    public function testFailsWithAwkwardMessage(): void
    {
        echo "to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語\n";
        echo "a control char: [\x01] and ]]> the end of a CDATA section\n";
        fwrite(STDERR, "to stderr: \x1b[1;33mwarning\x1b[0m\n");
        $this->fail("expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
            . "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n"
            . "\tthird line with a control char [\x01]");
    }

    // What an assertion itself says, with a difference.
    public function testFailsToCompare(): void
    {
        $this->assertSame(['a' => 'one & two'], ['a' => 'one < two']);
    }

    // An exception: PHPUnit calls it an error.
    public function testThrows(): void
    {
        throw new \RuntimeException('no such order: <42>');
    }

    // A PHP warning, which PHPUnit turns into an error.
    public function testWarns(): void
    {
        echo $undefined;
    }

    // Gives up with a reason.
    public function testSkipped(): void
    {
        $this->markTestSkipped('not on <this> platform & "never" — é');
    }

    // Not written yet.
    public function testIncomplete(): void
    {
        $this->markTestIncomplete('still to be written');
    }

    // Asserts nothing, which PHPUnit calls risky.
    public function testRisky(): void
    {
    }

    // One case of several fails; the texts are awkward for anyone who splits
    // names at '::', '"' or '#'.
    /** @dataProvider texts */
    public function testParametrised(string $text): void
    {
        $this->assertNotSame('a::b[0]', $text);
    }

    public static function texts(): array
    {
        return [
            'plain' => ['plain'],
            'two words' => ['two words'],
            'a::b[0]' => ['a::b[0]'],
            'ünï→日本' => ['ünï→日本'],
            '<&>"\'' => ['<&>"\''],
        ];
    }

    // Cases without names; the second one fails.
    /** @dataProvider numbers */
    public function testNumbered(int $number): void
    {
        $this->assertLessThan(2, $number);
    }

    public static function numbers(): array
    {
        return [[1], [2]];
    }

    // Runs after another test, on which it depends, has failed.
    /** @depends testFailsToCompare */
    public function testDependsOnFailure(): void
    {
        $this->assertTrue(true);
    }

    // Green, and writes to standard output.
    public function testWritesOutput(): void
    {
        echo "hello from stdout\n";
        $this->assertTrue(true);
    }

    // Fails in round 1 only, so that two runs of one commit differ.
    public function testFlakyByRound(): void
    {
        $this->assertNotSame('1', getenv('FLAKEWISE_ROUND'), 'failed in round 1');
    }
}
