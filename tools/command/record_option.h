// --record PATH of `facet bench`: results by the names that benchmarks of FlashAttention use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/measure/bench.h"

namespace CLI {
class App;
}

namespace fa::tools {

/// Where records (tools/measure/benchmark_record.h) go: into a file as one list, or into a folder, a file for each.
class RecordOption {
 public:
  void declare(CLI::App& app);

  bool asked() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  /// Throws ArgumentError where writing would replace one of `others`, which `whose` describes.
  void check_apart_from(const std::vector<std::string>& others, const std::string& whose) const;
  /// Makes the folder, before what takes time. Throws ArgumentError where two of the results that are to come would have one
  /// file, Error where there can be no folder, or the file cannot be written.
  void prepare(const std::vector<BenchResult>& planned) const;
  /// `is_causal`: as for benchmark_record.
  void write(const std::vector<BenchResult>& results, std::optional<bool> is_causal) const;

 private:
  bool is_folder() const;

  std::string path_;
};

}  // namespace fa::tools
