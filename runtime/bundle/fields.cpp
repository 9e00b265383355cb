#include "runtime/bundle/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "fa/bundle.h"

namespace fa {

using nlohmann::json;

Fields::Fields(const json& object, std::string place, const std::string& path)
    : object_(object), place_(std::move(place)), path_(path) {
  if (!object.is_object()) fail("", "is no object");
}

const json& Fields::any(const char* name) {
  const auto found = object_.find(name);
  if (found == object_.end()) fail(name, "is missing");
  ++read_;
  return *found;
}

std::string Fields::text(const char* name) {
  const json& value = any(name);
  if (!value.is_string()) fail(name, "is no text");
  return value.get<std::string>();
}

std::int64_t Fields::number(const char* name, std::int64_t least, std::int64_t most) {
  const json& value = any(name);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                        : value.is_number_integer();
  if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    fail(name, fmt::format("is no whole number from {} to {}", least, most));
  return value.get<std::int64_t>();
}

bool Fields::flag(const char* name) {
  const json& value = any(name);
  if (!value.is_boolean()) fail(name, "is neither true nor false");
  return value.get<bool>();
}

Key Fields::check(const char* name) {
  const std::string digits = text(name);
  Key key;
  const char* const middle = digits.data() + std::min<std::size_t>(digits.size(), 16);
  const char* const end = digits.data() + digits.size();
  std::from_chars(digits.data(), middle, key.high, 16);
  std::from_chars(middle, end, key.low, 16);
  if (key.hex() != digits) fail(name, "is no checksum of 32 digits");
  return key;
}

Fields Fields::inner(const char* name) { return Fields(any(name), place_ + name + ".", path_); }

std::optional<Fields> Fields::inner_or_null(const char* name) {
  const json& value = any(name);
  if (value.is_null()) return {};
  return Fields(value, place_ + name + ".", path_);
}

std::vector<std::string> Fields::texts(const char* name) {
  const json& value = any(name);
  if (!value.is_array() || !std::ranges::all_of(value, &json::is_string)) fail(name, "is no list of texts");
  return value.get<std::vector<std::string>>();
}

std::vector<Fields> Fields::objects(const char* name) {
  const json& value = any(name);
  if (!value.is_array()) fail(name, "is no list");
  std::vector<Fields> result;
  for (std::size_t i = 0; i < value.size(); ++i)
    result.push_back(Fields(value[i], fmt::format("{}{}[{}].", place_, name, i), path_));
  return result;
}

void Fields::fail(std::string_view name, const std::string& why) const {
  std::string where = place_ + std::string(name);
  if (where.ends_with('.')) where.pop_back();
  throw BundleError(
      fmt::format("{}: manifest: {}{}{}; build it again", path_, where, where.empty() ? "" : " ", why));
}

void Fields::end() const {
  if (read_ != object_.size()) fail("", fmt::format("has {} fields, {} are known", object_.size(), read_));
}

}  // namespace fa
