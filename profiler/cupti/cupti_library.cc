// The calls of the seam, as calls of CUPTI.
#include "profiler/cupti/cupti_library.h"

#include <cupti.h>

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/cuda/cuda_device.h"
#include "device/device.h"
#include "device/stream.h"
#include "profiler/cupti/cupti_functions.h"
#include "profiler/cupti/cupti_words.h"

namespace graphtree::cupti {
namespace {

// CUPTI's callbacks for buffers carry no pointer of their user's, so the way to the user is of the
// process. Whoever goes waits until no callback is on its way to it.
struct Route {
  std::shared_mutex mutex;
  CuptiEvents* events = nullptr;
  const CuptiFunctions* functions = nullptr;
};

Route& TheRoute() {
  static auto* const route = new Route;
  return *route;
}

void CUPTIAPI OnBufferWanted(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  Route& route = TheRoute();
  const std::shared_lock<std::shared_mutex> lock(route.mutex);
  const absl::Span<uint8_t> taken =
      route.events != nullptr ? route.events->TakeBuffer() : absl::Span<uint8_t>();
  *buffer = taken.empty() ? nullptr : taken.data();
  *bytes = taken.size();
  *most_records = 0;  // as many as fit
}

void CUPTIAPI OnBufferFull(CUcontext context, uint32_t stream, uint8_t* buffer, size_t bytes,
                           size_t valid_bytes) {
  Route& route = TheRoute();
  const std::shared_lock<std::shared_mutex> lock(route.mutex);
  if (route.events == nullptr || buffer == nullptr) return;
  size_t dropped = 0;
  if (route.functions->ActivityGetNumDroppedRecords(context, stream, &dropped) != CUPTI_SUCCESS) {
    dropped = 0;
  }
  route.events->BufferFull(buffer, valid_bytes, dropped);
}

// Only launches of graphs are enabled, and the executable is the first parameter of each of them.
void CUPTIAPI OnLaunch(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId call,
                       const void* data) {
  const auto* const info = static_cast<const CUpti_CallbackData*>(data);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API) return;
  Route& route = TheRoute();
  const std::shared_lock<std::shared_mutex> lock(route.mutex);
  if (route.events == nullptr || info->functionParams == nullptr) return;
  route.events->GraphLaunch({info->callbackSite == CUPTI_API_ENTER, info->correlationId,
                             *static_cast<const void* const*>(info->functionParams)});
}

class CuptiLibrary final : public CuptiApi {
 public:
  explicit CuptiLibrary(CuptiFunctions functions) : functions_(std::move(functions)) {}
  ~CuptiLibrary() override {
    if (subscriber_ != nullptr) Unsubscribe().IgnoreError();
  }

  std::string name() const override {
    return absl::StrCat("CUPTI ", VersionWords(functions_.version), " (", functions_.path, ")");
  }

  absl::Status Subscribe(CuptiEvents* events) override {
    GRAPHTREE_RETURN_IF_ERROR(SubscribeNamed());
    SetRoute(events);
    return absl::OkStatus();
  }
  absl::Status Unsubscribe() override {
    CUpti_SubscriberHandle const subscriber = std::exchange(subscriber_, nullptr);
    if (subscriber == nullptr) return absl::OkStatus();
    const absl::Status status =
        Result("cuptiUnsubscribe", functions_.Unsubscribe(subscriber));
    SetRoute(nullptr);
    return status;
  }
  absl::Status RegisterBuffers() override {
    return Result("cuptiActivityRegisterCallbacks",
                  functions_.ActivityRegisterCallbacks(OnBufferWanted, OnBufferFull));
  }
  absl::Status EnableLaunches(bool on) override {
    GRAPHTREE_RETURN_IF_ERROR(EnableCallback(on, CUPTI_CB_DOMAIN_DRIVER_API,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch));
    GRAPHTREE_RETURN_IF_ERROR(EnableCallback(on, CUPTI_CB_DOMAIN_DRIVER_API,
                                             CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz));
    GRAPHTREE_RETURN_IF_ERROR(EnableCallback(on, CUPTI_CB_DOMAIN_RUNTIME_API,
                                             CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000));
    return EnableCallback(on, CUPTI_CB_DOMAIN_RUNTIME_API,
                          CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000);
  }
  absl::Status EnableKind(RecordKind kind) override {
    return Result(absl::StrCat("cuptiActivityEnable of kind ", static_cast<uint32_t>(kind)),
                  functions_.ActivityEnable(static_cast<CUpti_ActivityKind>(kind)));
  }
  absl::Status DisableKind(RecordKind kind) override {
    return Result(absl::StrCat("cuptiActivityDisable of kind ", static_cast<uint32_t>(kind)),
                  functions_.ActivityDisable(static_cast<CUpti_ActivityKind>(kind)));
  }
  absl::Status Flush(bool all) override {
    return Result("cuptiActivityFlushAll",
                  functions_.ActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
  }
  uint64_t TakeDropped() override {
    size_t dropped = 0;
    const CUptiResult result =
        functions_.ActivityGetNumDroppedRecords(/*context=*/nullptr, 0, &dropped);
    return result == CUPTI_SUCCESS ? dropped : 0;
  }
  absl::Status Finalize() override {
    GRAPHTREE_RETURN_IF_ERROR(Result("cuptiFinalize", functions_.Finalize()));
    subscriber_ = nullptr;
    SetRoute(nullptr);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> NowNs() override {
    uint64_t now = 0;
    GRAPHTREE_RETURN_IF_ERROR(Result("cuptiGetTimestamp", functions_.GetTimestamp(&now)));
    return static_cast<int64_t>(now);
  }
  absl::StatusOr<uint32_t> IdOf(const void* executable) override {
    uint32_t id = 0;
    auto* const native = static_cast<CUgraphExec>(const_cast<void*>(executable));
    GRAPHTREE_RETURN_IF_ERROR(
        Result("cuptiGetGraphExecId", functions_.GetGraphExecId(native, &id)));
    return id;
  }
  absl::StatusOr<uint32_t> IdOf(const Stream& stream) override {
    GRAPHTREE_ASSIGN_OR_RETURN(const NativeStream native, NativeStreamOf(stream));
    uint32_t id = 0;
    GRAPHTREE_RETURN_IF_ERROR(
        Result("cuptiGetStreamIdEx",
               functions_.GetStreamIdEx(/*context=*/nullptr, static_cast<CUstream>(native),
                                        /*perThreadStream=*/0, &id)));
    return id;
  }
  Step Next(uint8_t* buffer, size_t valid_bytes, uint8_t** record) override {
    auto* next = reinterpret_cast<CUpti_Activity*>(*record);
    switch (functions_.ActivityGetNextRecord(buffer, valid_bytes, &next)) {
      case CUPTI_SUCCESS: *record = reinterpret_cast<uint8_t*>(next); return Step::kRecord;
      case CUPTI_ERROR_MAX_LIMIT_REACHED: return Step::kEnd;
      default: return Step::kBroken;
    }
  }

 private:
  absl::Status Result(absl::string_view call, CUptiResult result) const {
    if (result == CUPTI_SUCCESS) return absl::OkStatus();
    const char* name = nullptr;
    functions_.GetResultString(result, &name);
    return CuptiError(call, static_cast<int>(result), name != nullptr ? name : "unknown");
  }

  absl::Status SubscribeNamed() {
#if CUPTI_API_VERSION >= 130000
    if (functions_.Subscribe_v2 != nullptr) {
      char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
      CUpti_SubscriberParams params = {};
      params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
      params.subscriberName = "Graphtree";
      params.oldSubscriberName = holder;
      params.oldSubscriberSize = sizeof(holder);
      const CUptiResult result =
          functions_.Subscribe_v2(&subscriber_, OnLaunch, /*userdata=*/nullptr, &params);
      holder[sizeof(holder) - 1] = '\0';
      if (result == CUPTI_SUCCESS) return absl::OkStatus();
      subscriber_ = nullptr;
      if (static_cast<int>(result) == kMultipleSubscribers) {
        return HeldError("cuptiSubscribe_v2", holder);
      }
      return Result("cuptiSubscribe_v2", result);
    }
#endif
    const absl::Status status = Result(
        "cuptiSubscribe", functions_.Subscribe(&subscriber_, OnLaunch, /*userdata=*/nullptr));
    if (!status.ok()) subscriber_ = nullptr;
    return status;
  }

  absl::Status EnableCallback(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    return Result("cuptiEnableCallback",
                  functions_.EnableCallback(on ? 1 : 0, subscriber_, domain, id));
  }

  void SetRoute(CuptiEvents* events) {
    Route& route = TheRoute();
    const std::unique_lock<std::shared_mutex> lock(route.mutex);
    route.events = events;
    route.functions = &functions_;
  }

  const CuptiFunctions functions_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CuptiApi>> LoadCupti(const std::string& library,
                                                    const std::string& cuda_home) {
  GRAPHTREE_ASSIGN_OR_RETURN(CuptiFunctions functions, FindCupti(library, cuda_home));
  return std::make_unique<CuptiLibrary>(std::move(functions));
}

}  // namespace graphtree::cupti
