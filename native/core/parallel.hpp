// Run numbered chunks of work on several threads. What a chunk computes depends on its number alone, never on the
// thread that runs it or on how many there are: this is what makes results bit-identical for any thread count.
// Work that takes a second argument gets the number of its worker, for memory that a worker keeps between chunks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace segauge {

inline int worker_count(int64_t chunks, int threads) {
  return static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(threads, chunks)));
}

template <class Work>
void parallel_for(int64_t chunks, int threads, Work&& work) {
  auto work_on = [&](int64_t chunk, int worker) {
    if constexpr (std::is_invocable_v<Work, int64_t, int>) {
      work(chunk, worker);
    } else {
      work(chunk);
    }
  };
  const int workers = worker_count(chunks, threads);
  if (workers == 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) work_on(chunk, 0);
    return;
  }
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  auto run = [&](int worker) {
    try {
      for (int64_t chunk = next++; chunk < chunks; chunk = next++) work_on(chunk, worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
      next = chunks;
    }
  };
  std::vector<std::thread> crew;
  crew.reserve(static_cast<size_t>(workers - 1));
  try {
    for (int worker = 1; worker < workers; ++worker) crew.emplace_back(run, worker);
  } catch (const std::system_error&) {
    // the system allows no more threads: those that there are do all of it
  }
  run(0);
  for (auto& worker : crew) worker.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace segauge
