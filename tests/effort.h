// How many made-up cases a test takes.
#pragma once

namespace fa::tests {

/// All of `cases`, but a quarter of them under a sanitizer: there an element takes several times as long, and
/// what sanitizers look for shows in a few cases of a kind. The values are judged by the release build.
constexpr int made_up(int cases) {
#ifdef FA_SANITIZED
  return (cases + 3) / 4;
#else
  return cases;
#endif
}

}  // namespace fa::tests
