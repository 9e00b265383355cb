// tools/problem/npy: what is written reads back, NumPy's own bytes are read, everything else is refused with
// a reason.
#include "tools/problem/npy.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/tools/temporary.h"
#include "tools/problem/npy_type.h"
#include "tools/problem/problem.h"

using namespace fa;
using namespace fa::tools;

namespace {

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary;
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += std::string("\x01\x00", 2);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

}  // namespace

TEST_CASE("npy files read back as they were written") {
  const TemporaryFolder folder;
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f32, DType::i32, DType::i8, DType::boolean, DType::i64, DType::u8}) {
    HostTensor tensor("t", dtype, {2, 3, 5});
    fill_random(tensor, 11);
    write_npy(folder.file("t.npy"), tensor);
    const HostTensor back = read_npy(folder.file("t.npy"), "t", dtype, {2, 3, 5});
    CHECK(back.bytes == tensor.bytes);
    CHECK(back.shape == tensor.shape);
  }
}

TEST_CASE("npy headers are NumPy's, byte for byte") {
  const TemporaryFolder folder;
  HostTensor tensor("t", DType::f32, {2});
  tensor.set(0, 1);
  tensor.set(1, -2);
  write_npy(folder.file("t.npy"), tensor);
  const std::string expected = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                                   std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));
  CHECK(read_file(folder.file("t.npy")) == expected);
  CHECK(expected.size() == 128 + 8);
  CHECK(!std::filesystem::exists(folder.file("t.npy.part")));
}

TEST_CASE("bf16 is stored as f32, f32 files round, bf16 bits are read from V2 files") {
  const TemporaryFolder folder;
  HostTensor wide("x", DType::f32, {1});
  wide.set(0, 1.0 + 0x1p-8 + 0x1p-12);
  write_npy(folder.file("x.npy"), wide);
  CHECK(read_npy(folder.file("x.npy"), "x", DType::bf16, {1}).get(0) == 1.0 + 0x1p-7);
  CHECK(read_npy(folder.file("x.npy"), "x", DType::f16, {1}).get(0) == 1.0 + 0x1p-8);

  const auto raw =
      folder.write("raw.npy", npy("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "\x80\x3f"));
  CHECK(read_npy(raw, "x", DType::bf16, {1}).get(0) == 1.0);
  CHECK(read_npy(raw, "x", DType::f32, {1}).get(0) == 1.0);
}

TEST_CASE("NumPy's integers: int64 keeps its numbers, a hook reads their low 32 bits") {
  const TemporaryFolder folder;
  const auto wide = folder.write("w.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
                                              std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8) +
                                                  std::string("\x07\0\0\0\x01\0\0\0", 8)));
  const HostTensor ids = read_npy(wide, "ids", DType::i64, {2});
  CHECK(ids.get(0) == -2);
  CHECK(ids.get(1) == 7);
  CHECK(ids.bytes.size() == 16);
  const auto bytes =
      folder.write("b.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "\xc8"));
  CHECK(read_npy(bytes, "b", DType::u8, {1}).get(0) == 200);
  CHECK_THROWS_WITH(read_npy(wide, "ids", DType::i32, {2}),
                    wide + ": holds int64 ('<i8'), tensor 'ids' is i32; save it with .astype(np.int32)");
}

TEST_CASE("a scalar's worth of shapes") {
  const TemporaryFolder folder;
  const auto scalar =
      folder.write("s.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", "\x05\0\0\0"));
  CHECK(read_npy_header(scalar).shape.empty());
  const auto old = folder.write(
      "o.npy", npy("{'shape': (1, 12), 'fortran_order': False, 'descr': '|i1'}", "123456789012"));
  CHECK(read_npy(old, "o", DType::i8, {1, 12}).get(3) == '4');
}

TEST_CASE("what does not fit is refused by name") {
  const TemporaryFolder folder;
  const auto f64 =
      folder.write("d.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "12345678"));
  CHECK_THROWS_WITH(
      read_npy(f64, "slopes", DType::f32, {1}),
      f64 + ": holds float64 ('<f8'), tensor 'slopes' is f32; save it with .astype(np.float32)");
  const auto i32 =
      folder.write("i.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }", "1234"));
  CHECK_THROWS_WITH(read_npy(i32, "q", DType::bf16, {1}),
                    i32 + ": holds int32 ('<i4'), tensor 'q' is bf16; save it with .astype(np.float32)");
  CHECK_THROWS_WITH(read_npy(i32, "t", DType::i32, {2, 1}),
                    i32 + ": has shape [1], tensor 't' is [2, 1] for this problem");
  const auto big =
      folder.write("b.npy", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"));
  CHECK_THROWS_WITH(
      read_npy(big, "t", DType::f32, {1}),
      big + ": holds big-endian float32 ('>f4'), tensor 't' is f32; save it with .astype(np.float32)");
  const auto fortran =
      folder.write("f.npy", npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 2), }", "1234"));
  CHECK_THROWS_WITH(read_npy(fortran, "t", DType::i8, {2, 2}),
                    fortran + ": is in Fortran order; save it with np.ascontiguousarray(...)");
}

TEST_CASE("damaged npy files are refused with what is wrong") {
  const TemporaryFolder folder;
  const std::string good = npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "12345678");
  const auto refused = [&](const std::string& bytes) {
    const auto path = folder.write("x.npy", bytes);
    try {
      read_npy(path, "t", DType::i32, {2});
    } catch (const ArgumentError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return std::string("accepted");
  };
  CHECK(refused(good) == "accepted");
  CHECK(refused("") == ": not a readable .npy file: it is empty");
  CHECK(refused("PK zip file") ==
        ": not a readable .npy file: it is a ZIP archive, as .npz files are; save one array by np.save");
  CHECK(refused("1.0 2.0\n") ==
        ": not a readable .npy file: it does not start with \\x93NUMPY; save it by np.save");
  CHECK(refused(good.substr(0, 4)) == ": not a readable .npy file: it ends after 4 bytes, within its header");
  CHECK(refused(good.substr(0, 9)) == ": not a readable .npy file: it ends after 9 bytes, within its header");
  CHECK(refused(good.substr(0, 60)) == ": not a readable .npy file: its header is cut off: 50 of 118 bytes");
  CHECK(refused(good.substr(0, good.size() - 1)) == ": is cut off: 7 of 8 data bytes; copy or save it again");
  std::string version = good;
  version[6] = 9;
  CHECK(refused(version) ==
        ": not a readable .npy file: format version 9 is unknown; versions 1 to 3 are read");
  CHECK(refused(npy("{'fortran_order': False, 'shape': (2,), }", "")) ==
        ": not a readable .npy file: its header has no 'descr'");
  CHECK(refused(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }", "")) ==
        ": not a readable .npy file: it holds records, not plain numbers; save one of its fields");
  CHECK_THROWS_WITH(read_npy(folder.file("none.npy"), "t", DType::i32, {2}),
                    folder.file("none.npy") + ": cannot be read: No such file or directory");
  CHECK_THROWS_AS(read_npy(folder.file(""), "t", DType::i32, {2}), ArgumentError);
}

TEST_CASE("a shape is a tuple of whole numbers, and an order True or False") {
  const TemporaryFolder folder;
  const auto header = [&](const std::string& order, const std::string& shape) {
    return folder.write(
        "t.npy", npy("{'descr': '<i4', 'fortran_order': " + order + ", 'shape': " + shape + ", }", ""));
  };
  using Shape = std::vector<std::int64_t>;
  CHECK(read_npy_header(header("False", "()")).shape == Shape{});
  CHECK(read_npy_header(header("False", "(3,)")).shape == Shape{3});
  CHECK(read_npy_header(header("True", "( 2L,3L )")).shape == Shape{2, 3});
  const auto refused = [&](const std::string& order, const std::string& shape) -> std::string {
    const std::string path = header(order, shape);
    try {
      read_npy_header(path);
    } catch (const ArgumentError& error) {
      return std::string(error.what()).substr((path + ": not a readable .npy file: ").size());
    }
    return "(nothing was thrown)";
  };
  CHECK(refused("False", "(-3,)") == "its shape (-3,) has '-3' for an extent");
  CHECK(refused("False", "(2, x)") == "its shape (2, x) has 'x' for an extent");
  CHECK(refused("False", "(2 3)") == "its shape (2 3) has '2 3' for an extent");
  CHECK(refused("False", "(2.5,)") == "its shape (2.5,) has '2.5' for an extent");
  CHECK(refused("False", "(99999999999999999999,)") ==
        "its shape (99999999999999999999,) has '99999999999999999999' for an extent");
  CHECK(refused("False", "(2, 3") == "its shape is not a tuple");
  CHECK(refused("1", "(2,)") == "its fortran_order is neither True nor False");
}

TEST_CASE("bools are 0 or 1, whatever another program wrote") {
  const TemporaryFolder folder;
  const auto path = folder.write("b.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }",
                                              std::string("\x02\0\xff", 3)));
  const HostTensor read = read_npy(path, "b", DType::boolean, {3});
  CHECK(read.bytes == std::vector{std::byte{1}, std::byte{0}, std::byte{1}});
}

TEST_CASE("memory is asked for only where the data is there, and only as much as there can be") {
  const TemporaryFolder folder;
  const std::int64_t many = std::int64_t{1} << 40;
  const auto path = folder.write(
      "t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 4), }", "some"));
  CHECK_THROWS_WITH(read_npy(path, "t", DType::f32, {many, 4}),
                    path + ": is cut off: 4 of 17592186044416 data bytes; copy or save it again");
  CHECK_THROWS_AS(HostTensor("t", DType::f32, {many, many}), std::bad_alloc);
  CHECK_THROWS_AS(HostTensor("t", DType::f32, {std::int64_t{1} << 61}), std::bad_alloc);
  CHECK(HostTensor("t", DType::f32, {many, many, 0}).bytes.empty());
}

TEST_CASE("writing where nothing can be written is an error that names the file") {
  const TemporaryFolder folder;
  const HostTensor tensor("t", DType::f32, {2});
  CHECK_THROWS_WITH(write_npy(folder.file("none/t.npy"), tensor),
                    folder.file("none/t.npy") + ": cannot be written: " + folder.file("none") +
                        ": No such file or directory");
}

TEST_CASE("a shape whose extents are no whole numbers is refused", "[tools]") {
  const TemporaryFolder folder;
  const auto says = [&](const std::string& shape) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    const std::string path = folder.file("t.npy");
    std::ofstream(path, std::ios::binary) << bytes << header;
    try {
      return print_shape(read_npy_header(path).shape);
    } catch (const ArgumentError& error) {
      return std::string(error.what()).substr(path.size());
    }
  };
  CHECK(says("(1, 4, 20, 16)") == "[1, 4, 20, 16]");
  CHECK(says("(3,)") == "[3]");
  CHECK(says("()") == "[]");
  CHECK(says("(3L, 4L)") == "[3, 4]");
  const std::string refused = ": not a readable .npy file: its shape ";
  CHECK(says("(1, 4, 20, -16)") == refused + "(1, 4, 20, -16) has '-16' for an extent");
  CHECK(says("(4, x20)") == refused + "(4, x20) has 'x20' for an extent");
  CHECK(says("(4, 1.5)") == refused + "(4, 1.5) has '1.5' for an extent");
  CHECK(says("(4,, 5)") == refused + "(4,, 5) has '' for an extent");
}

TEST_CASE("what a file holds is said in words", "[tools]") {
  CHECK(describe_descr("<f8") == "float64 ('<f8')");
  CHECK(describe_descr(">i2") == "big-endian int16 ('>i2')");
  CHECK(describe_descr("|u1") == "uint8 ('|u1')");
  CHECK(describe_descr("<c16") == "complex128 ('<c16')");
  CHECK(describe_descr("|b1") == "bool ('|b1')");
  CHECK(describe_descr("<U5") == "text ('<U5')");
  CHECK(describe_descr("|O") == "Python objects ('|O')");
  CHECK(describe_descr("<V2") == "two raw bytes ('<V2')");
  CHECK(describe_descr("<M8[s]") == "times ('<M8[s]')");
  for (const char* odd : {"", "<", "f", "<fx", "<f99999999999", "?"})
    CHECK(describe_descr(odd) == "something else ('" + std::string(odd) + "')");
}

TEST_CASE("a file that cannot be opened or is no file says why", "[tools]") {
  const TemporaryFolder folder;
  const auto says = [](const std::string& path) {
    try {
      read_npy_header(path);
    } catch (const ArgumentError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return std::string("accepted");
  };
  CHECK(says(folder.file("")) == ": cannot be read: Is a directory");
  CHECK(says(folder.file("none.npy")) == ": cannot be read: No such file or directory");
  CHECK(says(folder.write("file", "") + "/t.npy") == ": cannot be read: Not a directory");
  CHECK(says(folder.write("long.npy", std::string("\x93NUMPY\x02\0\0\0\x10\0", 12))) ==
        ": not a readable .npy file: its header has 1048576 bytes; at most 65536 are read");
}
