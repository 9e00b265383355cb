// The files under templates/, embedded at build time.
#pragma once

#include <span>
#include <string_view>

namespace fa {

struct EmbeddedTemplate {
  std::string_view path;  // relative to templates/, as generated code includes it: "sm80/forward.cuh"
  std::string_view text;
};

std::span<const EmbeddedTemplate> embedded_templates();

}  // namespace fa
