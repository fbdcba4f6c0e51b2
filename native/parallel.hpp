// Run numbered chunks of work on several threads. What a chunk computes depends on its number alone, never on the
// thread that runs it or on how many there are: this is what makes results bit-identical for any thread count.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace segauge {

template <class Work>
void parallel_for(int64_t chunks, int threads, Work&& work) {
  const int64_t wanted = std::min<int64_t>(std::max(threads, 1), chunks);
  if (wanted <= 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) work(chunk);
    return;
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  auto run = [&] {
    try {
      for (int64_t chunk = next++; chunk < chunks; chunk = next++) work(chunk);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
      next = chunks;
    }
  };
  std::vector<std::thread> crew;
  crew.reserve(static_cast<size_t>(wanted - 1));
  for (int64_t i = 1; i < wanted; ++i) crew.emplace_back(run);
  run();
  for (auto& worker : crew) worker.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace segauge
