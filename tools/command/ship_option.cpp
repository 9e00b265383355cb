#include "tools/command/ship_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "compiler/spec/spec.h"
#include "fa/error.h"

namespace fa::tools {

void ShipOption::declare(CLI::App& app) {
  constexpr const char* kGroup = "Tables that ship";
  app.add_option(
         "--ship", folder_,
         "Also put what is found into DIR/GPU.jsonl, as tuned/ has it: plans more than 2% faster than the "
         "compiler's own, of specs whose masks read no tensors")
      ->type_name("DIR")
      ->check([](const std::string& folder) {
        return folder.empty() ? std::string("the folder's name is empty: name one, as tuned") : std::string();
      })
      ->group(kGroup);
  app.add_flag("--ship-unclean", takes_unclean_,
               "Let --ship write though this facet was built from changed files, or no checkout")
      ->group(kGroup);
}

void ShipOption::check(const Target& target) {
  if (!asked()) {
    if (takes_unclean_) throw ArgumentError("--ship-unclean says how --ship writes: name its folder, too");
    return;
  }
  if (const std::string why = why_unclean(); !why.empty() && !takes_unclean_)
    throw ArgumentError(
        fmt::format("--ship: {}: whoever reads the table could not tell what was measured: build a commit, "
                    "or pass --ship-unclean",
                    why));
  if (!tables_) tables_.emplace(folder_);
  tables_->check(target);
}

std::string ShipOption::add(const Spec& spec, const Target& target, const TunedPlan& found) {
  return tables_ ? tables_->add(spec.checked(), target, found) : std::string();
}

}  // namespace fa::tools
