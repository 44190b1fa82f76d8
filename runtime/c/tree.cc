// Trees, their functions, workspaces and generators: making them.
#include <string>
#include <utility>

#include "graphs/tree.h"
#include "runtime/c/bodies.h"
#include "runtime/c/entry.h"
#include "runtime/c/tree_objects.h"
#include "runtime/c/tree_options_of.h"

using graphtree::AddressRange;
using graphtree::c::CallerContext;
using graphtree::c::Entry;
using graphtree::c::FunctionObject;
using graphtree::c::GeneratorObject;
using graphtree::c::NewObject;
using graphtree::c::OpenedTree;
using graphtree::c::Ref;
using graphtree::c::TreeObject;
using graphtree::c::WorkspaceObject;

gt_error gt_tree_new(gt_device device, const gt_tree_options* options, gt_tree* out) noexcept {
  Entry entry("gt_tree_new");
  const graphtree::TreeOptions read = graphtree::c::TreeOptionsOf(options, &entry);
  const auto of = entry.Get<graphtree::c::DeviceObject>(device, "device");
  if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
  absl::StatusOr<std::unique_ptr<graphtree::Tree>> tree =
      graphtree::Tree::Create(of->device(), read);
  if (!tree.ok()) return entry.Return(tree.status());
  auto opened = std::make_shared<OpenedTree>(of->opened(), *std::move(tree));
  return entry.Give(NewObject<TreeObject>(std::move(opened)), out);
}

gt_error gt_tree_register(gt_tree tree, const char* name, const gt_function_options* options,
                          gt_body body, void* context, void (*destroy)(void* context),
                          gt_function* out) noexcept {
  Entry entry("gt_tree_register");
  // Held from here on, so that `destroy` is called whatever becomes of the function.
  auto held = std::make_shared<CallerContext>(context, destroy);
  const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
  const graphtree::FunctionOptions read = graphtree::c::FunctionOptionsOf(options, &entry);
  entry.Has(name, "name");
  if (body == nullptr) entry.Fail(absl::InvalidArgumentError("gt_tree_register: body is null"));
  if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
  const graphtree::FunctionId id = in->tree().Register(
      name, read, graphtree::c::BodyOf(body, std::move(held), in->opened()->opened()));
  const gt_error error = graphtree::c::GiveTreesOwn(
      entry,
      NewObject<FunctionObject>(in->opened(), id, std::string(name), read.static_inputs), out);
  // Nobody could call it.
  if (error != nullptr) in->tree().Unregister(id).IgnoreError();
  return error;
}

gt_error gt_tree_begin_step(gt_tree tree) noexcept {
  Entry entry("gt_tree_begin_step");
  const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
  if (!entry.ok()) return entry.Failed();
  in->tree().BeginStep();
  return nullptr;
}

gt_error gt_workspace_new(gt_tree tree, const char* name, gt_range memory,
                          gt_workspace* out) noexcept {
  Entry entry("gt_workspace_new");
  const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
  const AddressRange range = {memory.address, memory.bytes};
  if (entry.Has(name, "name")) entry.Fail(graphtree::Workspaces::CheckMemory(name, range));
  if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
  const graphtree::WorkspaceId id = in->tree().RegisterWorkspace(name, range);
  return graphtree::c::GiveTreesOwn(entry, NewObject<WorkspaceObject>(in->opened(), id), out);
}

gt_error gt_workspace_move(gt_workspace workspace, gt_range memory) noexcept {
  Entry entry("gt_workspace_move");
  const Ref<WorkspaceObject> of = entry.Get<WorkspaceObject>(workspace, "workspace");
  if (!entry.ok()) return entry.Failed();
  return entry.Return(of->tree().MoveWorkspace(of->id(), {memory.address, memory.bytes}));
}

gt_error gt_workspace_touch(gt_workspace workspace) noexcept {
  Entry entry("gt_workspace_touch");
  const Ref<WorkspaceObject> of = entry.Get<WorkspaceObject>(workspace, "workspace");
  if (!entry.ok()) return entry.Failed();
  return entry.Return(of->tree().TouchWorkspace(of->id()));
}

gt_error gt_generator_new(uint64_t seed, gt_generator* out) noexcept {
  Entry entry("gt_generator_new");
  if (!entry.Sets(out, "out")) return entry.Failed();
  return entry.Give(NewObject<GeneratorObject>(seed), out);
}

gt_error gt_generator_seed(gt_generator generator, uint64_t seed, uint64_t offset) noexcept {
  Entry entry("gt_generator_seed");
  const Ref<GeneratorObject> of = entry.Get<GeneratorObject>(generator, "generator");
  if (!entry.ok()) return entry.Failed();
  of->generator()->Seed(seed, offset);
  return nullptr;
}

gt_error gt_generator_look(gt_generator generator, uint64_t* seed, uint64_t* offset) noexcept {
  Entry entry("gt_generator_look");
  const Ref<GeneratorObject> of = entry.Get<GeneratorObject>(generator, "generator");
  entry.Sets(seed, "seed");
  if (!entry.Sets(offset, "offset") || !entry.ok()) return entry.Failed();
  *seed = of->generator()->seed();
  *offset = of->generator()->offset();
  return nullptr;
}
