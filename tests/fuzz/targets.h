// The fuzz targets. Each takes any bytes, and throws std::logic_error (or crashes, or fails under a
// sanitizer) only where Facet is wrong. scripts/fuzz runs them under libFuzzer; replay.cpp runs the seeds in
// the normal suite.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace fa::fuzz {

/// Text of a spec: refused with findings that have a place, or checked, printed, and parsed back to the same.
void fuzz_spec(std::string_view bytes);
/// Text of a spec that is accepted: compiled for two GPUs, short of NVRTC.
void fuzz_compile(std::string_view bytes);
/// A bundle's file; or its manifest, after a byte 'm', with the file made around it (@launch@ and @check@
/// stand for the checksums that no fuzzer finds).
void fuzz_bundle(std::string_view bytes);
/// The file around a manifest: a cubin of 64 equal bytes for each @check@, and right checksums. Written after
/// docs/bundles.md, without code of Facet's.
std::string bundle_around(std::string manifest);
/// A cache entry's file and its name; after a byte 'c' with the checksum put right.
void fuzz_cache(std::string_view bytes);
/// The file of a hook, as text: refused with one finding, or it becomes a kernel's source. Bitcode is refused
/// here: LLVM's reader trusts it (docs/testing.md).
void fuzz_import(std::string_view bytes);

/// A .npy file: refused by name, or read as a tensor that is written and read back the same.
void fuzz_npy(std::string_view bytes);
/// A command line, one word per line (`t.fa` is a spec): carried out, or refused with a message and status 2.
void fuzz_cli(std::string_view bytes);

struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes);
};
constexpr Target kTargets[] = {{"spec", fuzz_spec},   {"compile", fuzz_compile}, {"bundle", fuzz_bundle},
                               {"cache", fuzz_cache}, {"import", fuzz_import},   {"npy", fuzz_npy},
                               {"cli", fuzz_cli}};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace fa::fuzz
