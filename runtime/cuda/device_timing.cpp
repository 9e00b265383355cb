// Timing on the device by events.
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver.h"

namespace fa {
namespace {

class Event {
 public:
  explicit Event(const DriverTable& table) : table_(table) {
    check_driver(table_, table_.event_create(&event_, CU_EVENT_DEFAULT), "creating an event");
  }
  Event(Event&& other) noexcept : table_(other.table_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) table_.event_destroy(event_);
  }

  void record(Stream stream) {
    check_driver(table_, table_.event_record(event_, static_cast<CUstream>(stream)), "recording an event");
  }
  void wait() { check_driver(table_, table_.event_synchronize(event_), "waiting for the GPU"); }
  double milliseconds_since(const Event& start) const {
    float elapsed = 0;
    check_driver(table_, table_.event_elapsed_time(&elapsed, start.event_, event_),
                 "reading an event's time");
    return elapsed;
  }

 private:
  const DriverTable& table_;
  CUevent event_ = nullptr;
};

}  // namespace

std::vector<double> time_on_device(const CudaDevice& device, int runs, const std::function<void(int)>& launch,
                                   Stream stream) {
  const CudaDevice::Current current(device);
  std::vector<Event> starts;
  std::vector<Event> ends;
  for (int run = 0; run < runs; ++run) {
    starts.emplace_back(device.table());
    ends.emplace_back(device.table());
  }
  for (std::size_t run = 0; run < ends.size(); ++run) {
    starts[run].record(stream);
    launch(static_cast<int>(run));
    ends[run].record(stream);
  }
  std::vector<double> milliseconds;
  if (!ends.empty()) ends.back().wait();
  for (std::size_t run = 0; run < ends.size(); ++run)
    milliseconds.push_back(ends[run].milliseconds_since(starts[run]));
  return milliseconds;
}

}  // namespace fa
