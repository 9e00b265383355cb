// facet tune --ship: what was found joins the tables that ship with Facet (tuned/, runtime/tune/shipped).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "runtime/tune/shipped/line.h"

namespace fa::tools {

/// A plan must be faster than the compiler's own choice by more than this, measured or predicted, to be in a table: what is
/// nearer to it is as likely noise, or gone with the next NVRTC.
constexpr double kLeastShippedGain = 1.02;

/// Whether a plan is good enough for a table.
bool is_worth_shipping(const TunedPlan& found);

/// A table with plans that were found: each takes the place of the line of the same kernel (spec, dtype, head dims) and size, and
/// of lines of that spec as it was before it changed. A prediction leaves a measured line as it is. Where no plan is worth
/// shipping, the line names the compiler's own choice: it bounds the calls that other lines of the kernel are for. A kernel of
/// such lines alone has none. Sorted by spec, dtype, head dims and size.
std::vector<ShippedPlan> merge_shipped(std::vector<ShippedPlan> table, const std::vector<ShippedPlan>& found);

/// The text of a table: one line a plan, so that a change is seen as what it is.
std::string print_table(const std::vector<ShippedPlan>& table);

/// Why what this program finds is no measurement of a commit that others have, or an empty string: it was built from
/// changed files or outside a checkout, or builds kernels of other templates or flags.
std::string why_unclean();

/// A folder of tables that the plans of one run are put into. It knows them all: a size where the compiler's own choice is the
/// best becomes a line once another size has a better plan.
class ShippingFolder {
 public:
  explicit ShippingFolder(std::string folder) : folder_(std::move(folder)) {}

  /// Makes the folder, before what takes time. Throws ArgumentError where the target is the host, or a GPU that
  /// `facet explain --gpu` does not know, or where its table has a line that cannot be read; Error where it cannot be written.
  void check(const Target& target) const;
  /// Merges one plan into the GPU's table. Returns what became of it, in words. Throws as `check` does. A spec whose mask
  /// reads tensors has no line: which tiles another user's tensors leave is not known.
  std::string add(const CheckedSpec& spec, const Target& target, const TunedPlan& found);

 private:
  std::string path_of(const Target& target) const;
  std::vector<ShippedPlan> read(const Target& target) const;

  std::string folder_;
  std::map<std::string, std::vector<ShippedPlan>, std::less<>> found_;  // by GPU
};

}  // namespace fa::tools
