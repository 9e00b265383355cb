// One of two types.
#pragma once

namespace fa {

template <bool kFirst, class First, class Second>
struct OneOf {
  using Type = First;
};
template <class First, class Second>
struct OneOf<false, First, Second> {
  using Type = Second;
};

}  // namespace fa
