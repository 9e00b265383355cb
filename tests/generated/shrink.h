// Makes a failing spec smaller: items go, expressions become one of their parts or a literal, as long as it
// still fails.
#pragma once

#include <functional>
#include <string>

namespace fa::test {

/// Calls `fails` with texts that the checker accepts, at most `most` times. Returns the smallest text found;
/// `text` itself where nothing smaller fails. `file` is where hooks from files are looked for.
std::string shrink(const std::string& text, const std::string& file,
                   const std::function<bool(const std::string&)>& fails, int most = 400);

}  // namespace fa::test
