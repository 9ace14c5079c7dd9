// One test for each thing that GoogleTest's XML report can express.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

// The plain green case, with no output.
TEST(Orders, Passes) { EXPECT_EQ(4, 2 + 2); }

// Everything an XML writer must escape, over more than one line.
TEST(Orders, FailsWithAwkwardMessage) {
  std::cout << "to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\"" << std::endl;
  std::cerr << "to stderr: \x1b[1;33mwarning\x1b[0m" << std::endl;
  FAIL() << "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
            "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n"
            "\tthird line with a control char [\x01] and ]]> the end of a CDATA section";
}

// Two failures of one test, told apart by EXPECT_ which goes on.
TEST(Orders, FailsTwice) {
  EXPECT_EQ("one & two", std::string("one < two")) << "the first";
  EXPECT_TRUE(false) << "the second";
}

// An exception in the body: GoogleTest calls it a failure too.
TEST(Orders, Throws) { throw std::runtime_error("no such order: <42>"); }

// Gives up with a reason.
TEST(Orders, Skipped) { GTEST_SKIP() << "not on <this> platform & \"never\" — é"; }

// Off by its name; only counted unless it is asked for.
TEST(Orders, DISABLED_NeverRuns) { FAIL() << "must not run"; }

// Records properties, and writes to both streams.
TEST(Orders, WritesOutput) {
  RecordProperty("ticket", "ACME-7 <&>");
  RecordProperty("retries", 0);
  std::cout << "hello from stdout" << std::endl;
  std::cerr << "hello from stderr" << std::endl;
}

// Fails in round 1 only, so that two runs of one commit differ.
TEST(Orders, FlakyByRound) {
  const char* round = std::getenv("FLAKEWISE_ROUND");
  EXPECT_STRNE("1", round) << "failed in round 1";
}

// Fails on the first attempt and passes on the second. GoogleTest itself does
// not retry; `ctest --repeat until-pass` does.
TEST(Retries, PassesOnRetry) {
  const std::string marker = std::string(std::getenv("FLAKEWISE_MARKERS")) + "/PassesOnRetry";
  if (!std::ifstream(marker).good()) {
    std::ofstream(marker).put('\n');
    FAIL() << "failed on the first attempt";
  }
}

// No number of retries helps.
TEST(Retries, FailsOnEveryAttempt) { FAIL() << "fails on every attempt"; }

// One case of several fails. GoogleTest names the cases by their numbers and
// puts the text beside.
class Texts : public ::testing::TestWithParam<std::string> {};
TEST_P(Texts, Parametrised) { EXPECT_NE("a::b[0]", GetParam()); }
INSTANTIATE_TEST_SUITE_P(Awkward, Texts,
                         ::testing::Values("plain", "two words", "a::b[0]", "ünï→日本", "<&>\"'", ""));

// Cases with names of their own; the second one fails.
class Numbers : public ::testing::TestWithParam<int> {};
TEST_P(Numbers, Named) { EXPECT_LT(GetParam(), 2); }
INSTANTIATE_TEST_SUITE_P(, Numbers, ::testing::Values(1, 2), [](const auto& info) {
  return "Number" + std::to_string(info.param);
});

// The same test for two types; it fails for the second.
template <typename T>
class Typed : public ::testing::Test {};
using Types = ::testing::Types<int, std::pair<char, double>>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, IsSmall) { EXPECT_LE(sizeof(TypeParam), 8u); }

// Its set-up fails, so that the body does not run.
class BrokenSetUp : public ::testing::Test {
 protected:
  void SetUp() override { FAIL() << "set-up broke: cannot reach <db> & co"; }
};
TEST_F(BrokenSetUp, NeverRuns) {}

// Its tear-down fails after the body has passed or failed.
class BrokenTearDown : public ::testing::Test {
 protected:
  void TearDown() override { FAIL() << "tear-down broke"; }
};
TEST_F(BrokenTearDown, PassesThenTearDownBreaks) {}
TEST_F(BrokenTearDown, FailsThenTearDownBreaks) { FAIL() << "the body failed"; }

// The set-up of the whole suite fails, so that its tests are skipped.
class BrokenSuite : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { FAIL() << "the suite's set-up broke"; }
};
TEST_F(BrokenSuite, NeverRuns) {}

// Fails outside every test, when asked to: CTest runs each test by itself and
// would see no pass at all.
class Elsewhere : public ::testing::Environment {
 public:
  void TearDown() override { ADD_FAILURE() << "failed outside every test"; }
};

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::getenv("FLAKEWISE_FAIL_ELSEWHERE")) ::testing::AddGlobalTestEnvironment(new Elsewhere);
  return RUN_ALL_TESTS();
}
