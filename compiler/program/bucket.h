// Buckets of call sizes: a kernel may have several programs, of which each call runs the one of its bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "compiler/spec/rounding.h"
#include "templates/params.h"

namespace fa {

/// How many buckets a kernel has at most, and how many programs they have, each of which may serve several.
constexpr int kMostBuckets = 6, kMostPrograms = 4;
/// Queries that count as one CTA of work, whatever a plan's tile_q is: buckets are the same for all plans.
constexpr int kRowsOfCta = 128;

/// What buckets ask of a call.
struct CallSize {
  std::int64_t ctas = 0;  // CTAs of work: tiles of 128 queries, of all heads and batch entries
  std::int64_t kv_len = 0;
  std::int64_t group_size = 1;  // q heads that share a kv head

  static CallSize of(std::int64_t batch, std::int64_t num_q_heads, std::int64_t group_size,
                     std::int64_t q_len, std::int64_t kv_len) {
    return {.ctas = batch * num_q_heads * ceil_div(q_len, kRowsOfCta),
            .kv_len = kv_len,
            .group_size = group_size};
  }
  static CallSize of(const CallParams& call) {
    return of(call.batch, call.num_q_heads, call.group_size, call.q_len, call.kv_len);
  }
  bool operator==(const CallSize&) const = default;
};

/// Both ends belong to it.
struct SizeRange {
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t least = 0, most = kMost;

  bool holds(std::int64_t number) const { return least <= number && number <= most; }
  bool operator==(const SizeRange&) const = default;
};

/// The sizes that lie in each of its ranges. Without bounds it holds every call.
struct Bucket {
  SizeRange ctas = {}, kv_len = {}, group_size = {};

  bool holds(const CallSize& size) const {
    return ctas.holds(size.ctas) && kv_len.holds(size.kv_len) && group_size.holds(size.group_size);
  }
  /// "up to 66 CTAs of work, kv_len from 513 to 2048"; "every call" where it has no bounds.
  std::string print() const;
  bool operator==(const Bucket&) const = default;
};

/// The same for one of `count` buckets in their order: of several, the one that holds every call is for "all other calls".
std::string describe_bucket(const Bucket& bucket, std::size_t count);

}  // namespace fa
