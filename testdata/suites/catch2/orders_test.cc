// One test for each thing that Catch2's JUnit reporter can express.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

// The plain green case, with no output.
TEST_CASE("passes") { REQUIRE(2 + 2 == 4); }

// Everything an XML writer must escape, over more than one line.
TEST_CASE("fails with an awkward message") {
  std::cout << "to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語" << std::endl;
  std::cout << "a control char: [\x01] and ]]> the end of a CDATA section" << std::endl;
  std::cerr << "to stderr: \x1b[1;33mwarning\x1b[0m" << std::endl;
  FAIL("expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
       "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n"
       "\tthird line with a control char [\x01]");
}

// Two failures of one test, told apart by CHECK which goes on.
TEST_CASE("fails twice", "[slow][db]") {
  INFO("some context: <42>");
  CHECK(std::string("one & two") == "one < two");
  CHECK(1 == 2);
}

// An exception in the body: an error.
TEST_CASE("throws") { throw std::runtime_error("no such order: <42>"); }

// May fail, and does.
TEST_CASE("may fail", "[!mayfail]") { CHECK(1 == 2); }

// Fails as foretold.
TEST_CASE("should fail", "[!shouldfail]") { CHECK(1 == 2); }

// Hidden by its tag: not run unless asked for.
TEST_CASE("is hidden", "[.]") { FAIL("must not run"); }

// Asserts nothing.
TEST_CASE("asserts nothing") {}

// Sections, nested; only an inner one fails.
TEST_CASE("has sections") {
  SECTION("passes") { CHECK(true); }
  SECTION("outer") {
    SECTION("fails :: [0] / x") { CHECK(false); }
    SECTION("ünï→日本 <&>\"'") { CHECK(true); }
  }
}

// One value of three fails; Catch2 does not tell the values apart.
TEST_CASE("has generators") {
  auto number = GENERATE(1, 2, 3);
  CAPTURE(number);
  CHECK(number != 2);
}

// The same test for two types; it fails for the second.
TEMPLATE_TEST_CASE("has types", "", char, double) { CHECK(sizeof(TestType) < 4); }

// A method of a class, whose set-up throws.
struct BrokenSetUp {
  BrokenSetUp() { throw std::runtime_error("set-up broke: cannot reach <db> & co"); }
};
TEST_CASE_METHOD(BrokenSetUp, "never runs") {}

// A method of a class that works.
struct Fixture {
  int number = 1;
};
TEST_CASE_METHOD(Fixture, "passes in a fixture") { CHECK(number == 1); }

// Green, and writes to both streams.
TEST_CASE("writes output") {
  std::cout << "hello from stdout" << std::endl;
  std::cerr << "hello from stderr" << std::endl;
  CHECK(true);
}

// Fails in round 1 only, so that two runs of one commit differ.
TEST_CASE("flaky by round") {
  const char* round = std::getenv("FLAKEWISE_ROUND");
  CHECK(std::string(round ? round : "") != "1");
}
