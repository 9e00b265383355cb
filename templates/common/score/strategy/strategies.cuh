// All strategies.
#pragma once

#include "common/score/strategy/by_diagonal.cuh"
#include "common/score/strategy/general.cuh"
#include "common/score/strategy/linear.cuh"
#include "common/score/strategy/product.cuh"
#include "common/score/strategy/raw.cuh"
#include "common/score/strategy/shifted.cuh"
