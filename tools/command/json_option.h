// --json [FILE], the same in every command that has it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace fa::tools {

/// Where a report goes as JSON: nowhere, to stdout in the place of the text for people, or to a file in
/// addition to it.
class JsonOption {
 public:
  /// `what` is what the report says: "the results".
  void declare(CLI::App& app, std::string_view what);

  bool asked() const { return asked_; }
  /// Whether the text for people is printed: only JSON may stand on a stdout that has JSON.
  bool shows_text() const { return !asked_ || to_file(); }
  bool to_file() const { return asked_ && !file_.empty() && file_ != "-"; }
  const std::string& file() const { return file_; }

  /// Throws ArgumentError where writing the report would replace one of `others`, which `whose` describes.
  void check_apart_from(const std::vector<std::string>& others, std::string_view whose) const;
  /// Throws Error where the file cannot be written, as far as that can be told: before work that would be lost.
  void prepare() const;
  /// Prints or writes `report` where it was asked for.
  void write(const nlohmann::json& report) const;

 private:
  bool asked_ = false;
  std::string file_;
};

/// Whether --json is given an empty name. CLI11 does not tell that from --json alone.
bool names_empty_json(const std::vector<std::string>& words);

/// The word after --json is FILE, unless it is clearly something that the command reads: a folder, a spec,
/// one of `facet cache`'s words, or an existing file without JSON. Ends --json before such a word.
void separate_json_word(std::vector<std::string>& words);

}  // namespace fa::tools
