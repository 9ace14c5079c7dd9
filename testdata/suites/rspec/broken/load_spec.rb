# Cannot be loaded, so that there is no example at all.
require "no_such_library_anywhere"

RSpec.describe "Never" do
  it "is never found" do
    # Never found, as the line above raises.
  end
end
