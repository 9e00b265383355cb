// A table with what a tuner knows: plans at single sizes become buckets around them.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compiler/schedule/buckets/plan_table.h"

namespace fa {
namespace {

struct Point {
  CallSize at;
  const KnownPlan* known = nullptr;

  const Plan& plan() const { return known->choice.plan; }
};
using Points = std::vector<Point>;  // the latest first

struct Axis {
  std::int64_t CallSize::* number;
  SizeRange Bucket::* bounds;
};
constexpr std::array kAxes{Axis{&CallSize::kv_len, &Bucket::kv_len}, Axis{&CallSize::ctas, &Bucket::ctas},
                           Axis{&CallSize::group_size, &Bucket::group_size}};

/// One bucket and what is known of sizes in it.
struct Part {
  Bucket bucket;
  Points points;

  std::size_t num_plans() const {
    std::size_t count = 0;
    for (auto it = points.begin(); it != points.end(); ++it)
      count +=
          std::none_of(points.begin(), it, [&](const Point& other) { return other.plan() == it->plan(); });
    return count;
  }
};

struct Halves {
  Part low, high;
};

/// Where a bucket is divided: so that the halves have as few different plans as possible; of such places where
/// sizes lie farthest apart. Nothing where all sizes are one.
std::optional<Halves> divide(const Part& part) {
  std::optional<Halves> best;
  std::pair<std::size_t, double> best_rank;  // plans of both halves, then how far apart, negated
  for (const Axis& axis : kAxes) {
    std::vector<std::int64_t> numbers;
    for (const Point& point : part.points) numbers.push_back(point.at.*axis.number);
    std::ranges::sort(numbers);
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      const std::int64_t below = numbers[i], above = numbers[i + 1];
      if (below == above) continue;
      const auto middle =
          static_cast<std::int64_t>(std::sqrt(static_cast<double>(below) * static_cast<double>(above)));
      Halves halves{.low = {.bucket = part.bucket, .points = {}},
                    .high = {.bucket = part.bucket, .points = {}}};
      (halves.low.bucket.*axis.bounds).most = middle;
      (halves.high.bucket.*axis.bounds).least = middle + 1;
      for (const Point& point : part.points)
        (point.at.*axis.number <= middle ? halves.low : halves.high).points.push_back(point);
      const std::pair rank{halves.low.num_plans() + halves.high.num_plans(),
                           -static_cast<double>(above) / static_cast<double>(below)};
      if (best && rank >= best_rank) continue;
      best = std::move(halves);
      best_rank = rank;
    }
  }
  return best;
}

/// At most `most` parts, each of one plan as far as that goes; the one with the largest sizes is the last.
std::vector<Part> parts_of(const Part& whole, std::size_t most) {
  std::vector<Part> parts{whole};
  while (parts.size() < most) {
    std::size_t at = parts.size();
    std::optional<Halves> halves;
    while (at > 0 && !halves) {
      --at;
      if (parts[at].num_plans() > 1) halves = divide(parts[at]);
    }
    if (!halves) break;
    parts[at] = std::move(halves->high);
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), std::move(halves->low));
  }
  return parts;
}

/// What counts in one bucket: measurements alone where there are some, and one plan a size.
Points relevant(const Points& all) {
  const bool has_measured =
      std::ranges::any_of(all, [](const Point& point) { return point.known->is_measured; });
  Points kept;
  for (const Point& point : all) {
    const bool is_later_known = std::ranges::find(kept, point.at, &Point::at) != kept.end();
    if (point.known->is_measured == has_measured && !is_later_known) kept.push_back(point);
  }
  return kept;
}

/// How many programs the table has at most once lines of which something is known have plans of their own.
std::size_t count_programs(const PlanTable& table, const std::vector<Points>& of_line) {
  std::vector<Plan> kept;
  std::size_t own = 0;
  for (std::size_t at = 0; at < table.size(); ++at) {
    const Plan& plan = table[at].choice.plan;
    if (!of_line[at].empty())
      ++own;
    else if (std::ranges::find(kept, plan) == kept.end())
      kept.push_back(plan);
  }
  return own + kept.size();
}

}  // namespace

PlanTable refine(const PlanTable& table, std::span<const KnownPlan> found) {
  std::vector<KnownPlan> known(found.begin(), found.end());
  for (KnownPlan& one : known)
    if (one.is_own) one.choice.plan = line_for(table, size_of(one.size)).choice.plan;
  std::vector<Points> of_line(table.size());
  for (const KnownPlan& one : known) {
    const CallSize at = size_of(one.size);
    of_line[static_cast<std::size_t>(&line_for(table, at) - table.data())].push_back(
        {.at = at, .known = &one});
  }

  // Programs that may be added, each in a bucket of its own.
  const std::size_t programs = count_programs(table, of_line);
  std::size_t left = programs < kMostPrograms ? kMostPrograms - programs : 0;
  left = std::min<std::size_t>(left, kMostBuckets - table.size());
  std::vector<PlanTable> lines(table.size());
  for (std::size_t at = table.size(); at-- > 0;) {  // the most usual sizes first
    const Part whole{.bucket = table[at].bucket, .points = relevant(of_line[at])};
    if (whole.points.empty()) {
      lines[at] = {table[at]};
      continue;
    }
    const std::vector<Part> parts = parts_of(whole, left + 1);
    left -= parts.size() - 1;
    for (const Part& part : parts) {
      PlanOfBucket& line = lines[at].emplace_back();
      line.bucket = part.bucket;
      line.choice = part.points.front().known->choice;
      line.shape = part.points.front().known->size;
    }
  }
  PlanTable result;
  for (PlanTable& of_one : lines) std::ranges::move(of_one, std::back_inserter(result));
  result.back().bucket = {};
  while (result.size() > 1 && result[result.size() - 2].choice.plan == result.back().choice.plan)
    result.erase(result.end() - 2);
  return result;
}

}  // namespace fa
