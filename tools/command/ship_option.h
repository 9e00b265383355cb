// --ship DIR of `facet tune`: what it finds joins the tables of plans that ship with Facet.
#pragma once

#include <optional>
#include <string>

#include "compiler/target/target.h"
#include "fa/spec.h"
#include "tools/tune/ship.h"

namespace CLI {
class App;
}

namespace fa::tools {

class ShipOption {
 public:
  void declare(CLI::App& app);

  bool asked() const { return !folder_.empty(); }
  /// Throws, before what takes time, where plans for this target cannot be put there (tools/tune/ship.h).
  void check(const Target& target);
  /// Puts a plan there. Returns what became of it, in words; empty where nobody asked.
  std::string add(const Spec& spec, const Target& target, const TunedPlan& found);

 private:
  std::string folder_;
  bool takes_unclean_ = false;
  std::optional<ShippingFolder> tables_;
};

}  // namespace fa::tools
