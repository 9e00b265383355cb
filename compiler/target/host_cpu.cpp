#include "compiler/target/host_cpu.h"

#include <utility>

namespace fa {
namespace {

bool has_feature(const std::string& features, const std::string& name) {
  return ("," + features + ",").find(",+" + name + ",") != std::string::npos;
}

}  // namespace

HostCpu HostCpu::from_features(std::string triple, std::string name, std::string features,
                               std::string data_layout) {
  HostCpu cpu{.triple = std::move(triple),
              .name = std::move(name),
              .features = std::move(features),
              .data_layout = std::move(data_layout)};
  const bool avx512 = has_feature(cpu.features, "avx512f") && has_feature(cpu.features, "avx512bw") &&
                      has_feature(cpu.features, "avx512dq") && has_feature(cpu.features, "avx512vl");
  if (avx512) {
    cpu.lanes = 16, cpu.registers = 32, cpu.avx512 = true;
    cpu.bf16_pairs = has_feature(cpu.features, "avx512bf16");
    cpu.amx = has_feature(cpu.features, "amx-tile") && has_feature(cpu.features, "amx-bf16");
  } else if (has_feature(cpu.features, "avx2") && has_feature(cpu.features, "fma")) {
    cpu.lanes = 8;
  } else if (cpu.triple.starts_with("aarch64")) {
    cpu.registers = 32;
  }
  return cpu;
}

HostProduct product_of(DType dtype, const HostCpu& cpu) {
  if (dtype != DType::bf16) return HostProduct::floats;
  if (cpu.amx) return HostProduct::tiles;
  return cpu.bf16_pairs ? HostProduct::pairs : HostProduct::floats;
}

}  // namespace fa
