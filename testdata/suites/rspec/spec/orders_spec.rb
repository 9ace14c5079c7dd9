# One example for each thing that RspecJunitFormatter can express.

RSpec.describe "Orders" do
  it "passes" do
    # Nothing to see: the plain green case, with no output.
    expect(2 + 2).to eq(4)
  end

  it "fails with an awkward message" do
    # Everything an XML writer must escape, over more than one line.
    $stdout.puts "to stdout: \e[31mred\e[0m <tag> & \"quotes\" café 日本語"
    $stdout.puts "a control char: [\u0001] and ]]> the end of a CDATA section"
    $stderr.puts "to stderr: \e[1;33mwarning\e[0m"
    raise RSpec::Expectations::ExpectationNotMetError,
          "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n" \
          "second line: \e[32mnaïve\e[0m café 日本語 🦀\n" \
          "\tthird line with a control char [\u0001]"
  end

  it "fails to compare" do
    # What a matcher itself says, with a difference.
    expect("one & two\nthree\n").to eq("one < two\nthree\n")
  end

  it "raises" do
    # An exception that is no failed expectation.
    raise ArgumentError, "no such order: <42>"
  end

  it "fails twice", :aggregate_failures do
    # Two failures of one example.
    expect(1).to eq(2)
    expect("a").to eq("b")
  end

  it "is skipped", skip: "not on <this> platform & \"never\" — é" do
    # Skipped where it is declared, with a reason.
    raise "must not run"
  end

  it "is pending" do
    # Fails as foretold: reported as a kind of skip.
    pending "known bug #12"
    expect(1).to eq(2)
  end

  it "is pending but passes" do
    # Passes although it was foretold to fail.
    pending "known bug #13"
    expect(1).to eq(1)
  end

  it "is still to be written"

  ["plain", "two words", "a::b[0]", "ünï→日本", "<&>\"'", ""].each do |text|
    it "takes [#{text}]" do
      # One case of several fails; the texts are awkward for anyone who splits
      # names at '::' or '['.
      expect(text).not_to eq("a::b[0]")
    end
  end

  it { expect(3).to be > 2 } # A name made from the matcher.

  context "when empty" do
    it "passes in a context" do
      # One level down.
    end

    describe "and closed" do
      it "fails in a nested group" do
        # Two levels down, failing.
        expect("left").to eq("right")
      end
    end
  end

  context "with a broken before hook" do
    before { raise "set-up broke: cannot reach <db> & co" }

    it "never runs" do
      # Never runs: see the hook.
    end
  end

  context "with a broken after hook" do
    after { raise "tear-down broke" }

    it "passes, then the tear-down breaks" do
      # The body passes.
    end

    it "fails, then the tear-down breaks" do
      # The body fails, and then the tear-down raises too.
      expect(1).to eq(2)
    end
  end

  it "writes output" do
    # A green example which writes to both streams.
    $stdout.puts "hello from stdout"
    $stderr.puts "hello from stderr"
  end

  it "is flaky by round" do
    # Fails in round 1 only, so that two runs of one commit differ.
    expect(ENV["FLAKEWISE_ROUND"]).not_to eq("1"), "failed in round 1"
  end
end
