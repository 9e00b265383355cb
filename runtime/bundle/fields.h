// A bundle's manifest, read field by field: every field must be asked for, and none may be left.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/hash.h"

namespace fa {

/// One JSON object. What is not as asked for throws BundleError, which names the place.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string place, const std::string& path);

  /// Of the few fields that may be left out.
  bool has(const char* name) const { return object_.contains(name); }
  std::string text(const char* name);
  std::int64_t number(const char* name, std::int64_t least, std::int64_t most);
  int count(const char* name, int least, int most) { return static_cast<int>(number(name, least, most)); }
  bool flag(const char* name);
  Key check(const char* name);
  Fields inner(const char* name);
  /// Nothing where it is null.
  std::optional<Fields> inner_or_null(const char* name);
  std::vector<std::string> texts(const char* name);
  /// A list of objects.
  std::vector<Fields> objects(const char* name);

  /// `name` may be empty: the object itself.
  [[noreturn]] void fail(std::string_view name, const std::string& why) const;

  /// Throws where the object has a field that nobody asked for: it may change what the others mean.
  void end() const;

 private:
  const nlohmann::json& any(const char* name);

  const nlohmann::json& object_;
  std::string place_;
  const std::string& path_;
  std::size_t read_ = 0;
};

}  // namespace fa
