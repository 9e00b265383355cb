// How the host's kernels cut a tile: panels of query rows, and what a micro-kernel of either product holds in registers.
#pragma once

#include "compiler/schedule/plan.h"
#include "compiler/target/host_cpu.h"

namespace fa {

struct HostBlocking {
  HostProduct product = HostProduct::floats;
  int lanes = 0;         // floats in a vector
  int panel_vecs = 0;    // vectors across a panel of query rows
  int panel = 0;         // query rows in a panel: lanes * panel_vecs
  int panels = 0;        // panels in a q tile
  int qk_rows = 0;       // kv rows the first product's micro-kernel holds
  int pv_rows = 0;       // query rows the second product's micro-kernel holds; divides `panel`
  int pv_vecs = 0;       // at most so many vectors of head_dim_v in it
  int softmax_rows = 0;  // kv rows of a tile that the fused kernel's softmax takes at once
};

HostBlocking host_blocking(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu,
                           HostProduct product);

}  // namespace fa
