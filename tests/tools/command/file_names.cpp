// Names of files on the command line.
#include <filesystem>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;

TEST_CASE("an option in the place of a file's name is no file", "[tools]") {
  const TemporaryFolder folder;
  const std::string in = "cd '" + folder.file("") + "' && \"$FACET\" ";
  const std::string spec = " \"$SPECS\"/causal.fa ";
  const std::vector<std::pair<std::string, std::string>> all = {
      {"run" + spec + "--device host --q-len 16 --heads 1", "--out"},
      {"run" + spec + "--device host --q-len 16 --heads 1", "--lse"},
      {"emit" + spec + "--gpu a100", "--output"},
      {"explain" + spec + "--tiles --gpu a100 --q-len 128", "--map"},
      {"build" + spec + "--arch sm_80", "--output"},
      {"bundle x", "--extract"}};
  for (const auto& [command, option] : all) {
    INFO(command << " " << option);
    const auto result = shell(in + command + " " + option + " --verify");
    CHECK(result.status == 2);
    CHECK(first_line(result.err)
              .ends_with(
                  ": it is '--verify', which looks like an option; a file of that name is './--verify'"));
    CHECK_FALSE(std::filesystem::exists(folder.file("--verify")));
  }
  CHECK(shell(in + "emit" + spec + "--gpu a100 -o ./--verify").status == 0);
  CHECK(std::filesystem::exists(folder.file("--verify")));
}
