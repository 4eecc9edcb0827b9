// Fails the Nth allocation of the core; loaded with LD_PRELOAD, armed by ctypes.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {
std::atomic<long> count{0}, at{0}, live{0};
std::atomic<bool> struck{false};
const char* begin_of_core = nullptr;

// What the core holds. Its destructors may be left by a jump, so that who frees is not to be told.
constexpr std::size_t kPlaces = 1 << 20;
std::atomic<void*> held[kPlaces];

std::atomic<void*>* find(void* pointer, void* wanted) {
  std::size_t place = reinterpret_cast<std::size_t>(pointer) / 16 * 2654435761U % kPlaces;
  for (int tries = 0; tries < 64; ++tries, place = (place + 1) % kPlaces) {
    if (held[place] == wanted) return &held[place];
  }
  return nullptr;
}
void hold(void* pointer) {
  for (;;) {
    std::atomic<void*>* place = find(pointer, nullptr);
    void* free = nullptr;
    if (place == nullptr) std::abort();
    if (place->compare_exchange_strong(free, pointer)) break;
  }
  ++live;
}

// Whether the caller is the core: others' allocations are left alone.
bool of_core(void* caller) {
  if (begin_of_core == nullptr) return false;
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fbase == begin_of_core;
}
void* allocate(std::size_t size, std::size_t align, void* caller, bool may_be_null) {
  const bool counted = of_core(caller);
  if (counted && ++count == at) {
    struck = true;
    if (may_be_null) return nullptr;
    throw std::bad_alloc();
  }
  if (size == 0) size = 1;
  void* found = align == 0 ? std::malloc(size)
                           : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (found == nullptr && !may_be_null) throw std::bad_alloc();
  if (counted && found != nullptr) hold(found);
  return found;
}
void release(void* pointer) {
  std::atomic<void*>* place = pointer == nullptr ? nullptr : find(pointer, pointer);
  if (place != nullptr) {
    *place = nullptr;
    --live;
  }
  std::free(pointer);
}
}  // namespace

extern "C" {
void memory_watch(void* symbol) {
  Dl_info info;
  if (dladdr(symbol, &info) != 0) begin_of_core = static_cast<const char*>(info.dli_fbase);
}
void memory_arm(long number) { count = 0, at = number, struck = false; }
long memory_count() { return count; }
long memory_live() { return live; }
int memory_struck() { return struck ? 1 : 0; }
}

#define CALLER __builtin_return_address(0)
void* operator new(std::size_t size) { return allocate(size, 0, CALLER, false); }
void* operator new[](std::size_t size) { return allocate(size, 0, CALLER, false); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 0, CALLER, true);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 0, CALLER, true);
}
void* operator new(std::size_t size, std::align_val_t align) {
  return allocate(size, static_cast<std::size_t>(align), CALLER, false);
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
