// The key of the disk cache: everything that decides a kernel's bytes changes it, and nothing else does.
#include "runtime/build/key.h"

#include <set>

#include "tests/catch.h"

using namespace fa;

TEST_CASE("texts are told apart by where one ends", "[runtime][key]") {
  const std::string_view a[] = {"ab", "c"}, b[] = {"a", "bc"}, c[] = {"ab", "c", ""};
  CHECK(hash_texts(a) == hash_texts(a));
  CHECK_FALSE(hash_texts(a) == hash_texts(b));
  CHECK_FALSE(hash_texts(a) == hash_texts(c));
  CHECK(hash_texts(a).hex().size() == 32);
}

TEST_CASE("every part of a build is in its key", "[runtime][key]") {
  const Source plain = {.text = "text",
                        .headers = {{.path = "a.h", .text = "a"}, {.path = "b.h", .text = "b"}},
                        .arch = "sm_80",
                        .program = {{.entry = "entry",
                                     .grid = Grid::q_tiles,
                                     .tile_q = 64,
                                     .tile_kv = 32,
                                     .threads = 128,
                                     .shared_memory = 1024}}};
  const std::vector<std::string> flags = {"-a", "-b"};
  std::set<std::string> keys = {cuda_key(plain, flags, "nvrtc").hex()};
  const auto adds = [&](const Source& source, const std::vector<std::string>& with, std::string_view nvrtc) {
    return keys.insert(cuda_key(source, with, nvrtc).hex()).second;
  };
  CHECK_FALSE(adds(plain, flags, "nvrtc"));
  CHECK(adds(plain, flags, "other"));
  CHECK(adds(plain, {"-a"}, "nvrtc"));
  CHECK(adds(plain, {"-b", "-a"}, "nvrtc"));
  const auto changed = [&](auto change) {
    Source source = plain;
    change(source);
    return adds(source, flags, "nvrtc");
  };
  CHECK(changed([](Source& s) { s.text += ' '; }));
  CHECK(changed([](Source& s) { s.headers[1].text = "c"; }));
  CHECK(changed([](Source& s) { s.headers[1].path = "c.h"; }));
  CHECK(changed([](Source& s) { s.headers.pop_back(); }));
  CHECK(changed([](Source& s) { s.arch = "sm_90"; }));
  CHECK(changed([](Source& s) { s.program[0].entry = "other"; }));
  CHECK(changed([](Source& s) { s.program[0].grid = Grid::tile_map; }));
  CHECK(changed([](Source& s) { s.program[0].tile_q = 128; }));
  CHECK(changed([](Source& s) { s.program[0].tile_kv = 128; }));
  CHECK(changed([](Source& s) { s.program[0].threads = 256; }));
  CHECK(changed([](Source& s) { s.program[0].shared_memory = 2048; }));
  CHECK(changed([](Source& s) { s.program[0].overlaps = true; }));
  CHECK(changed([](Source& s) { s.program[0].tile_map = TileMapShape{}; }));
  CHECK(changed([](Source& s) { s.program[0].tile_map = TileMapShape{true, false, false}; }));
  CHECK(changed([](Source& s) { s.program[0].tile_map = TileMapShape{false, true, false}; }));
  CHECK(changed([](Source& s) { s.program[0].tile_map = TileMapShape{false, false, true}; }));
  CHECK(changed([](Source& s) { s.program[0].score_bytes = 2; }));
  CHECK(changed([](Source& s) { s.program[0].score_bytes = 4; }));
  CHECK(changed([](Source& s) { s.program[0].sum_columns = 64; }));
  CHECK(changed([](Source& s) { s.program.push_back(s.program[0]); }));
  CHECK(keys.insert(host_cache_key("text").hex()).second);
}
