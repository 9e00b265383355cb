#include "runtime/bundle/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <tuple>

#include "compiler/spec/spec.h"
#include "runtime/bundle/calls.h"
#include "runtime/bundle/fields.h"
#include "runtime/bundle/passes.h"
#include "runtime/cuda/launch_abi.h"

namespace fa {
namespace {

using nlohmann::json;

std::string abi_hash() {
  const std::string abi = launch_abi();
  const std::string_view text = abi;
  return hash_texts(std::span(&text, 1)).hex();
}

/// What a call is checked against: the spec's canonical text, one item a line, without its hooks. They are in
/// the cubin; their text may name files that the reader does not have.
std::string interface_of(const Spec& spec) {
  const std::string text = spec.text();
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const auto is = [&](std::string_view word) { return line.starts_with(word); };
    const bool is_hook = is("score_mod ") || is("mask_mod ") || is("sink ");
    // Forward kernels are the same with and without gradients, and a `grad` needs the hooks to be checked.
    constexpr std::string_view kGrad = " grad\n";
    const bool has_grad = (is("param ") || is("tensor ")) && line.ends_with(kGrad);
    if (!is_hook)
      result += has_grad ? std::string(line.substr(0, line.size() - kGrad.size())) + '\n' : std::string(line);
    at = end;
  }
  return result;
}

/// What its backward passes give gradients of; `has_backward`: whether a kernel of the bundle has one.
std::vector<std::string> gradients_of(const Spec& spec, bool has_backward) {
  std::vector<std::string> names;
  if (!has_backward) return names;
  for (const ParamInfo& param : spec.params())
    if (param.grad) names.push_back(param.name);
  for (const TensorInfo& tensor : spec.tensors())
    if (tensor.grad) names.push_back(tensor.name);
  return names;
}

json to_json(const Spec& spec, bool has_backward) {
  return {{"name", spec.name()},
          {"head_dim", spec.head_dim()},
          {"head_dim_v", spec.head_dim_v()},
          {"dtype", dtype_name(spec.dtype())},
          {"gradients", gradients_of(spec, has_backward)},
          {"text", interface_of(spec)}};
}

/// What a kernel, a bucket and a backward pass have alike.
json to_json(const std::string& plan, const Binary& binary, const ImagePlace& place) {
  return {{"plan", plan},
          {"passes", print_passes(binary.program)},
          {"registers", binary.registers},
          {"spill_bytes", binary.spill_bytes},
          {"image", {{"offset", place.offset}, {"bytes", place.bytes}, {"check", place.check.hex()}}}};
}

/// `place`: of the kernel's first cubin, then of the next kernel's.
json to_json(const BundleKernel& kernel, std::vector<ImagePlace>::const_iterator& place) {
  json result = to_json(kernel.plan, kernel.binary, *place++);
  result.update({{"spec", kernel.spec}, {"arch", kernel.arch}});
  for (const BundleBucket& bucket : kernel.buckets) {
    json one = to_json(bucket.plan, bucket.binary, *place++);
    one["calls"] = print_calls(bucket.bucket);
    result["buckets"].push_back(std::move(one));
  }
  result["backward"] =
      kernel.backward ? to_json(kernel.backward->plan, kernel.backward->binary, *place++) : json();
  return result;
}

/// The spec with `names` marked `grad`, whose text here has no hooks that they could reach.
Spec with_gradients(const Spec& spec, const std::vector<std::string>& names, Fields& fields) {
  CheckedSpec checked = spec.checked();
  for (const std::string& name : names) {
    const auto is_named = [&](const auto& item) { return item.name == name; };
    const auto param = std::ranges::find_if(checked.params, is_named);
    const auto tensor = std::ranges::find_if(checked.tensor_infos, is_named);
    if (param != checked.params.end()) {
      param->grad = true;
    } else if (tensor != checked.tensor_infos.end()) {
      tensor->grad = true;
      checked.tensors[static_cast<std::size_t>(tensor - checked.tensor_infos.begin())].info.grad = true;
    } else {
      fields.fail("gradients", fmt::format("names '{}', which the spec does not have", name));
    }
  }
  return Spec(std::make_shared<const CheckedSpec>(std::move(checked)));
}

Spec parse_spec(Fields fields) {
  const std::string name = fields.text("name");
  const int head_dim = fields.count("head_dim", 1, 1 << 16);
  const int head_dim_v = fields.count("head_dim_v", 1, 1 << 16);
  const std::string dtype = fields.text("dtype");
  const std::vector<std::string> gradients = fields.texts("gradients");
  const std::string text = fields.text("text");
  fields.end();
  try {
    Spec spec = Spec::parse(text, name);
    if (spec.name() != name || spec.head_dim() != head_dim || spec.head_dim_v() != head_dim_v ||
        dtype_name(spec.dtype()) != dtype)
      fields.fail("text", "is of another spec");
    return with_gradients(spec, gradients, fields);
  } catch (const SpecError& error) {
    fields.fail("text", fmt::format("is no spec to this program ({})", error.diagnostics().at(0).message));
  }
}

ImagePlace parse_image(Fields fields) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  ImagePlace place;
  place.offset = static_cast<std::uint64_t>(fields.number("offset", 0, kMost));
  place.bytes = static_cast<std::uint64_t>(fields.number("bytes", 1, kMost));
  place.check = fields.check("check");
  fields.end();
  return place;
}

/// Adds the place of its image.
Binary parse_binary(Fields& fields, Direction direction, std::vector<ImagePlace>& places) {
  constexpr int kMostBytes = 1 << 20;
  Binary binary;
  binary.program = parse_passes(fields, direction);
  binary.registers = fields.count("registers", 0, 255);
  binary.spill_bytes = fields.count("spill_bytes", 0, kMostBytes);
  places.push_back(parse_image(fields.inner("image")));
  return binary;
}

void parse_buckets(Fields& fields, BundleKernel& kernel, std::vector<ImagePlace>& places) {
  std::vector<Fields> buckets = fields.objects("buckets");
  if (buckets.empty() || buckets.size() >= kMostBuckets)
    fields.fail("buckets",
                fmt::format("has {} entries, it must have 1 to {}", buckets.size(), kMostBuckets - 1));
  for (Fields& bucket : buckets) {
    kernel.buckets.push_back({.bucket = parse_calls(bucket.inner("calls")),
                              .plan = bucket.text("plan"),
                              .binary = parse_binary(bucket, Direction::forward, places)});
    bucket.end();
  }
}

BundleKernel parse_kernel(Fields& fields, std::size_t specs, std::vector<ImagePlace>& places) {
  BundleKernel kernel;
  kernel.spec = static_cast<std::size_t>(fields.number("spec", 0, static_cast<std::int64_t>(specs) - 1));
  kernel.arch = fields.text("arch");
  // It becomes part of file names (facet bundle --extract).
  const bool is_word = std::ranges::all_of(
      kernel.arch, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  if (kernel.arch.empty() || !is_word) fields.fail("arch", "is no architecture, such as sm_80");
  kernel.plan = fields.text("plan");
  kernel.binary = parse_binary(fields, Direction::forward, places);
  if (fields.has("buckets")) parse_buckets(fields, kernel, places);
  if (std::optional<Fields> backward = fields.inner_or_null("backward")) {
    kernel.backward = {.plan = backward->text("plan"),
                       .binary = parse_binary(*backward, Direction::backward, places)};
    backward->end();
  }
  return kernel;
}

}  // namespace

std::string print_manifest(const BundleContents& contents, const std::vector<ImagePlace>& places) {
  json specs = json::array();
  for (std::size_t i = 0; i < contents.specs.size(); ++i)
    specs.push_back(to_json(contents.specs[i], std::ranges::any_of(contents.kernels, [&](const auto& kernel) {
                              return kernel.spec == i && kernel.backward;
                            })));
  json kernels = json::array();
  auto place = places.begin();
  for (const BundleKernel& kernel : contents.kernels) kernels.push_back(to_json(kernel, place));
  const json manifest{{"facet", contents.facet},
                      {"nvrtc", contents.nvrtc},
                      {"launch", {{"check", abi_hash()}, {"layout", launch_abi()}}},
                      {"specs", std::move(specs)},
                      {"kernels", std::move(kernels)}};
  return manifest.dump(1) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  json whole;
  try {
    whole = json::parse(text);
  } catch (const json::parse_error& error) {
    throw BundleError(fmt::format("{}: manifest: is no JSON at byte {}; build it again", path, error.byte));
  } catch (const json::exception&) {  // a number that no machine holds
    throw BundleError(fmt::format("{}: manifest: has a number out of range; build it again", path));
  }
  Fields fields(whole, "", path);
  Manifest manifest;
  BundleContents& contents = manifest.contents;
  contents.facet = fields.text("facet");
  contents.nvrtc = fields.count("nvrtc", 0, 1 << 16);
  Fields launch = fields.inner("launch");
  if (launch.text("check") != abi_hash()) {
    throw BundleError(
        fmt::format("{}: was built by facet {}, whose kernels take other arguments than this program passes: "
                    "build it with the "
                    "facet of the program's version",
                    path, contents.facet));
  }
  launch.text("layout");
  launch.end();
  for (Fields& spec : fields.objects("specs")) contents.specs.push_back(parse_spec(spec));
  std::set<std::tuple<std::string, int, DType, std::string>> seen;
  for (Fields& kernel : fields.objects("kernels")) {
    contents.kernels.push_back(parse_kernel(kernel, contents.specs.size(), manifest.places));
    kernel.end();
    const BundleKernel& added = contents.kernels.back();
    const Spec& spec = contents.specs[added.spec];
    if (!seen.emplace(spec.name(), spec.head_dim(), spec.dtype(), added.arch).second)
      kernel.fail("arch", "is that of another kernel of the same spec");
  }
  if (contents.kernels.empty()) fields.fail("kernels", "is empty");
  fields.end();
  return manifest;
}

}  // namespace fa
