// The fields of one line of JSON, by type: what a line lacks is said by name. For the .cpp files that read lines.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/cost.h"
#include "runtime/build/sass.h"
#include "runtime/tune/record.h"

namespace fa {

constexpr std::int64_t kMostNumber = std::numeric_limits<int>::max();

/// Reads the fields of one line; `ok` is false once one is missing or of another type.
class LineFields {
 public:
  explicit LineFields(std::string_view line)
      : json_(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false)), ok_(json_.is_object()) {}

  std::string text(const char* name) {
    const nlohmann::json* const value = field(name);
    if (value == nullptr || !value->is_string()) return fail<std::string>(name);
    return value->get<std::string>();
  }
  double number(const char* name) {
    const nlohmann::json* const value = field(name);
    if (value == nullptr || !value->is_number()) return fail<double>(name);
    return value->get<double>();
  }
  double positive(const char* name) {
    const double value = number(name);
    return std::isfinite(value) && value > 0 ? value : fail<double>(name);
  }
  /// A whole number from 0 on.
  std::int64_t count(const char* name, std::int64_t most) {
    const double value = number(name);
    if (!(value >= 0 && value <= static_cast<double>(most)) || value != std::floor(value))
      return fail<std::int64_t>(name);
    return static_cast<std::int64_t>(value);
  }
  bool flag(const char* name) {
    const nlohmann::json* const value = field(name);
    if (value == nullptr || !value->is_boolean()) return fail<bool>(name);
    return value->get<bool>();
  }
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }
  std::vector<std::string> texts(const char* name) {
    const nlohmann::json* const value = field(name);
    if (value == nullptr || !value->is_array()) return fail<std::vector<std::string>>(name);
    std::vector<std::string> all;
    for (const nlohmann::json& one : *value) {
      if (!one.is_string()) return fail<std::vector<std::string>>(name);
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  SassCounts counts(const char* name) {
    const nlohmann::json* const value = field(name);
    if (value == nullptr || !value->is_object()) return fail<SassCounts>(name);
    SassCounts counts{};
    for (std::size_t kind = 0; kind < kNumSassKinds; ++kind) {
      const auto found = value->find(sass_kind_name(static_cast<SassKind>(kind)));
      if (found == value->end()) continue;  // zeros are left out
      if (!found->is_number_integer()) return fail<SassCounts>(name);
      counts[kind] = found->get<int>();
    }
    return counts;
  }
  ProblemSize size(const char* name) {
    const nlohmann::json* const value = field(name);
    if (value == nullptr || !value->is_object()) return fail<ProblemSize>(name);
    const auto part_of = [&](const char* part) {
      const auto found = value->find(part);
      const bool fits = found != value->end() && found->is_number_unsigned() &&
                        found->get<std::uint64_t>() >= 1 &&
                        found->get<std::uint64_t>() <= static_cast<std::uint64_t>(kMostNumber);
      return fits ? found->get<int>() : fail<int>(name);
    };
    return {.batch = part_of("batch"),
            .num_q_heads = part_of("heads"),
            .num_kv_heads = part_of("kv_heads"),
            .q_len = part_of("q_len"),
            .kv_len = part_of("kv_len")};
  }
  TuneKey key() {
    return {
        .spec = text("spec"), .code = text("code"), .device = text("device"), .compiler = text("compiler")};
  }
  bool ok() const { return ok_; }
  /// The first field that is missing or of another type; empty where the line is no JSON object at all.
  const std::string& wrong() const { return wrong_; }
  /// Notes that a field holds what it cannot mean.
  void refuse(const char* name) { fail<int>(name); }

 private:
  const nlohmann::json* field(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  template <class T>
  T fail(const char* name) {
    if (ok_) wrong_ = name;
    ok_ = false;
    return T();
  }

  nlohmann::json json_;
  bool ok_ = false;
  std::string wrong_;
};

}  // namespace fa
