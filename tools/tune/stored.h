// facet tune --list, --export, --import, --forget: what is remembered, and what ships, without timing anything.
#pragma once

#include <string>
#include <vector>

#include "fa/spec.h"
#include "runtime/tune/plan_store.h"
#include "tools/command/json_option.h"

namespace fa::tools {

/// The plans that ship with Facet for these GPUs, for all where none is given; of these specs alone, where some are given.
int list_shipped(const std::vector<std::string>& gpus, const std::vector<Spec>& specs,
                 const JsonOption& json);

/// Of these specs alone, where some are given. Each returns the exit status.
int list_plans(const PlanStore& store, const std::vector<Spec>& specs, const JsonOption& json);
int forget_plans(const PlanStore& store, const std::vector<Spec>& specs, const JsonOption& json);
/// One plan a line, as the store holds them.
int export_plans(const PlanStore& store, const std::vector<Spec>& specs, const std::string& file,
                 const JsonOption& json);
/// Joins the plans of a file to those of the store: the later timed of two counts. Throws ArgumentError
/// where the
/// file cannot be read or holds no plan.
int import_plans(const PlanStore& store, const std::string& file, const JsonOption& json);

}  // namespace fa::tools
