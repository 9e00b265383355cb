// The tables under tuned/, one a GPU: embedded into the library, so that it needs no path, or read from FA_SHIPPED_DIR.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tune/shipped/line.h"

namespace fa {

/// A file of tuned/. The build writes `embedded_tables` (cmake/embed.cmake).
struct EmbeddedTable {
  std::string_view path;  // "h200.jsonl"
  std::string_view text;
};
std::span<const EmbeddedTable> embedded_tables();

/// The file's name in tuned/ of a GPU's table, as `facet explain --gpu` calls it: "h200.jsonl".
std::string table_name(std::string_view gpu);

/// A table's lines, in its order. `problems`: what is wrong with other lines of it, "FILE:3: field 'ms' is missing or wrong".
struct ShippedTable {
  std::vector<ShippedPlan> plans;
  std::vector<std::string> problems;
};
/// `file`: its name in problems. Only lines that hold `with` are looked at: reading JSON takes longer than finding text.
ShippedTable read_table(std::string_view text, std::string_view gpu, const std::string& file,
                        std::string_view with = {});

/// The plans that ship for a spec (TuneKey::spec) on a GPU, or else on the one that computes as it does (Target::computes_as),
/// as choose_remembered takes them. Lines that cannot be read
/// are passed over: tests hold the embedded ones to be sound, and `facet tune --list --shipped` names those of a folder.
/// `problem`: why FA_SHIPPED_DIR cannot be read, or an empty string.
std::vector<TunedPlan> shipped_plans(std::string_view gpu, const std::string& spec, std::string& problem);
/// The whole table of a GPU; empty where there is none. What cannot be read is among its problems.
ShippedTable shipped_table(std::string_view gpu);

}  // namespace fa
