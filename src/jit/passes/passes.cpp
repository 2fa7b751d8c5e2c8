// SPDX-License-Identifier: Apache-2.0
// All passes, one row each, and the pipelines. To add one: docs/add-a-pass.md.
#include "jit/passes/passes.h"

#include <iterator>

#include "jit/passes/activations.h"
#include "jit/passes/batch_mm.h"
#include "jit/passes/canonicalize_graph_fuser_ops.h"
#include "jit/passes/clear_profiling.h"
#include "jit/passes/clear_undefinedness.h"
#include "jit/passes/common_subexpression_elimination.h"
#include "jit/passes/constant_pooling.h"
#include "jit/passes/constant_propagation.h"
#include "jit/passes/create_autodiff_subgraphs.h"
#include "jit/passes/create_functional_graphs.h"
#include "jit/passes/convert_to_ssa.h"
#include "jit/passes/dead_code_elimination.h"
#include "jit/passes/decompose_ops.h"
#include "jit/passes/decompositions.h"
#include "jit/passes/erase_number_types.h"
#include "jit/passes/erase_shape_information.h"
#include "jit/passes/frozen_folding.h"
#include "jit/passes/inline_fork_wait.h"
#include "jit/passes/inliner.h"
#include "jit/passes/inplace_check.h"
#include "jit/passes/integer_value_refinement.h"
#include "jit/passes/lint.h"
#include "jit/passes/loop_unrolling.h"
#include "jit/passes/lower_grad_of.h"
#include "jit/passes/lower_tuples.h"
#include "jit/passes/normalize_ops.h"
#include "jit/passes/peephole.h"
#include "jit/passes/peephole_list_idioms.h"
#include "jit/passes/propagate_facts.h"
#include "jit/passes/refine_tuple_types.h"
#include "jit/passes/remove_expands.h"
#include "jit/passes/remove_inplace_ops.h"
#include "jit/passes/remove_mutation.h"
#include "jit/passes/specialize_autogradzero.h"
#include "jit/passes/subgraph_rewrite.h"

namespace fc::jit {
namespace {

// clang-format off
constexpr Pass table[] = {
  // name, file of log lines, Python's name, function, titles of the dumps before and after, what runs then
  {"ClearProfilingInformation", "clear_profiling", nullptr, clear_profiling, nullptr,
   "After ClearProfilingInformation: "},
  {"LowerGradOf", "lower_grad_of", nullptr, lower_grad_of},
  {"ClearUndefinedness", "clear_undefinedness", nullptr, clear_undefinedness, nullptr, "After removeUndefinedness: "},
  {"RemoveExpands", "remove_expands", "_jit_pass_remove_expands", remove_expands},
  {"CanonicalizeOps", "canonicalize_graph_fuser_ops", "_jit_pass_canonicalize_graph_fuser_ops", canonicalize_fuser_ops,
   nullptr, "After CanonicalizeOps: ", "EliminateDeadCode"},
  {"EliminateDeadCode", "dead_code_elimination", "_jit_pass_dce_graph", eliminate_dead_code, nullptr,
   "After EliminateDeadCode: "},
  {"EliminateDeadCodeOfBlock", "dead_code_elimination", "_jit_pass_dce", eliminate_dead_code_without_aliases},
  {"EliminateDeadCodeWithEffects", "dead_code_elimination", "_jit_pass_dce_allow_deleting_nodes_with_side_effects",
   eliminate_dead_code_with_effects, nullptr, "After EliminateDeadCode: "},
  {"DecomposeOps", "decompose_ops", "_jit_pass_decompose_ops", decompose_ops},
  {"ConstantPropagation", "constant_propagation", "_jit_pass_constant_propagation", propagate_constants, nullptr,
   "After ConstantPropagation: "},
  {"ConstantPropagationImmutableTypes", "constant_propagation", "_jit_pass_constant_propagation_immutable_types",
   propagate_constants_of_immutable_types, nullptr, "After ConstantPropagation: "},
  {"EliminateCommonSubexpression", "common_subexpression_elimination", "_jit_pass_cse", eliminate_common_subexpressions,
   "Before CSE"},
  {"ConstantPooling", "constant_pooling", "_jit_pass_constant_pooling", pool_constants},
  {"PeepholeOptimize", "peephole", "_jit_pass_peephole", peephole, nullptr, "After PeepholeOptimize: ",
   "EliminateDeadCodeOfBlock"},
  {"PeepholeOptimizeListIdioms", "peephole_list_idioms", "_jit_pass_peephole_list_idioms", peephole_lists},
  {"LowerSimpleTuples", "lower_tuples", nullptr, lower_simple_tuples, nullptr, "After LowerSimpleTuples: ",
   "EliminateDeadCode"},
  {"LowerAllTuples", "lower_tuples", "_jit_pass_lower_all_tuples", lower_all_tuples, nullptr, "After LowerAllTuples: "},
  {"CheckInplace", "inplace_check", nullptr, check_inplace},
  {"EraseShapeInformation", "erase_shape_information", "_jit_pass_erase_shape_information", erase_shape_information},
  {"EraseNumberTypes", "erase_number_types", "_jit_pass_erase_number_types", erase_number_types, nullptr,
   "After EraseNumberTypes: "},
  {"UnrollLoops", "loop_unrolling", "_jit_pass_loop_unrolling", unroll_loops},
  {"UnrollConstantLoops", "loop_unrolling", "_jit_pass_constant_loop_unrolling", unroll_constant_loops},
  {"RemoveListMutation", "remove_mutation", nullptr, remove_list_mutation},
  {"RemoveTensorMutation", "remove_mutation", nullptr, remove_tensor_mutation},
  {"RemoveMutation", "remove_mutation", "_jit_pass_remove_mutation", remove_mutation},
  {"Inline", "inliner", "_jit_pass_inline", inline_calls, "Before Inlining: ", "After Inlining: "},
  {"InlineForkWait", "inline_fork_wait", "_jit_pass_inline_fork_wait", inline_fork_wait, nullptr,
   "After InlineForkWait: "},
  {"SpecializeAutogradZero", "specialize_autogradzero", "_jit_pass_specialize_autogradzero", specialize_autogradzero},
  {"RefineTupleTypes", "refine_tuple_types", "_jit_pass_refine_tuple_types", refine_tuple_types},
  {"InplaceToFunctionalActivation", "restore_mutation", "_jit_pass_inplace_to_functional_activation",
   activations_functional},
  {"FunctionalToInplaceActivation", "restore_mutation", "_jit_pass_functional_to_inplace_activation",
   activations_in_place},
  {"BatchMM", "batch_mm", "_jit_pass_batch_mm", batch_mm},
  {"CreateAutodiffSubgraphs", "create_autodiff_subgraphs", "_jit_pass_create_autodiff_subgraphs",
   create_autodiff_subgraphs, "Before creating autodiff subgraphs"},
  {"InlineAutodiffSubgraphs", "inline_autodiff_subgraphs", nullptr, inline_autodiff_subgraphs},
  {"CreateFunctionalGraphs", "create_functional_graphs", "_jit_pass_create_functional_graphs",
   create_functional_graphs},
  {"InlineFunctionalGraphs", "create_functional_graphs", "_jit_pass_inline_functional_graphs",
   inline_functional_graphs},
  {"IntegerValueRefinement", "integer_value_refinement", "_jit_pass_integer_value_refinement", refine_integer_values},
  {"RefineIntegerValues", "integer_value_refinement", "_jit_pass_refine_integer_values", refine_integer_values},
  {"NormalizeOps", "normalize_ops", "_jit_pass_normalize_ops", normalize_ops},
  {"PropagateShapes", "symbolic_shape_analysis", "_jit_pass_propagate_shapes_on_graph", propagate_shapes},
  {"PropagateDTypes", "dtype_analysis", "_jit_pass_propagate_dtype", propagate_dtypes},
  {"PropagateDevices", "device_type_analysis", "_jit_pass_propagate_device", propagate_devices},
  {"RemoveInplaceOps", "remove_inplace_ops", "_jit_pass_remove_inplace_ops", remove_inplace_ops},
  {"FuseLinear", "fuse_linear", "_jit_pass_fuse_linear", fuse_linear},
  {"FuseAddRelu", "fuse_relu", "_jit_pass_fuse_add_relu", fuse_add_relu},
  {"FuseAddMM", "peephole", "_jit_pass_fuse_addmm", fuse_addmm},
  {"removeDropout", "remove_dropout", nullptr, remove_dropout},
  {"FoldFrozenConvBatchnorm", "frozen_conv_folding", "_jit_pass_fold_frozen_conv_bn", fold_frozen_conv_bn},
  {"FoldFrozenConvAddOrSub", "frozen_conv_folding", "_jit_pass_fold_frozen_conv_add_or_sub",
   fold_frozen_conv_add_or_sub},
  {"FoldFrozenConvMulOrDiv", "frozen_conv_folding", "_jit_pass_fold_frozen_conv_mul_or_div",
   fold_frozen_conv_mul_or_div},
  {"FoldFrozenLinearBatchnorm", "frozen_linear_folding", "_jit_pass_fold_frozen_linear_bn", fold_frozen_linear_bn},
  {"FrozenConcatLinear", "frozen_concat_linear", "_jit_pass_concat_frozen_linear", concat_frozen_linear},
  {"FrozenLinearTranspose", "frozen_linear_transpose", "_jit_pass_transpose_frozen_linear", transpose_frozen_linear},
  {"OptimizeFrozenGraph", "frozen_graph_optimizations", "_jit_pass_optimize_frozen_graph", optimize_frozen_graph},
  {"RunDecompositions", "decompositions", "_jit_pass_run_decompositions", run_decompositions},
  {"ConvertToSSA", "convert_to_ssa", nullptr, convert_to_ssa},
  {"CanonicalizeModifiedLoops", "canonicalize_modified_loops", nullptr, canonicalize_modified_loops},
  {"CanonicalizeOutputs", "canonicalize", nullptr, canonicalize_outputs},
  {"Lint", "lint", "_jit_pass_lint", lint},
};
// clang-format on

consteval const Pass* row(std::string_view name) {
  for (const Pass& p : table)
    if (name == p.name) return &p;
  throw "no such row";
}

constexpr const Pass* profiling_insensitive[] = {
    row("ClearProfilingInformation"),
    row("LowerGradOf"),
    row("ClearUndefinedness"),
    row("RemoveExpands"),
    row("CanonicalizeOps"),
    row("EliminateDeadCode"),
    row("DecomposeOps"),
    row("ConstantPropagation"),
    row("EliminateDeadCode"),
    row("EliminateCommonSubexpression"),
    row("ConstantPooling"),
    row("PeepholeOptimize"),
    row("EliminateDeadCode"),
    row("LowerSimpleTuples"),
    row("CheckInplace"),
};

constexpr const Pass* noopt[] = {
    row("LowerGradOf"),
    row("RemoveExpands"),
};

constexpr const Pass* pre_autodiff[] = {
    row("LowerGradOf"),
    row("SpecializeAutogradZero"),
    row("RemoveExpands"),
    row("CanonicalizeOps"),
    row("EliminateDeadCode"),
    row("PeepholeOptimize"),
    row("ConstantPropagation"),
    row("EliminateDeadCode"),
    row("EliminateCommonSubexpression"),
    row("PeepholeOptimize"),
    row("ConstantPropagation"),
    row("ConstantPooling"),
    row("UnrollLoops"),
    row("RemoveListMutation"),
    row("PeepholeOptimize"),
    row("ConstantPropagation"),
    row("EliminateCommonSubexpression"),
    row("CheckInplace"),
};

constexpr const Pass* inlining[] = {
    row("Inline"),
    row("PeepholeOptimize"),
    row("ConstantPropagationImmutableTypes"),
    row("ConstantPooling"),
};

constexpr const Pass* to_ir[] = {
    row("ConvertToSSA"),
    row("CanonicalizeModifiedLoops"),
    row("NormalizeOps"),
};

constexpr const Pass* frontend[] = {
    row("LowerSimpleTuples"), row("EliminateDeadCode"), row("ConstantPropagationImmutableTypes"),
    row("EliminateDeadCode"), row("ConstantPooling"),   row("CanonicalizeOutputs"),
};

}  // namespace

std::span<const Pass> pass_table() { return table; }

std::span<const Pass* const> profiling_insensitive_pipeline() { return profiling_insensitive; }
std::span<const Pass* const> noopt_pipeline() { return noopt; }
std::span<const Pass* const> pre_autodiff_pipeline() { return pre_autodiff; }
std::span<const Pass* const> inlining_pipeline() { return inlining; }
std::span<const Pass* const> to_ir_pipeline() { return to_ir; }
std::span<const Pass* const> frontend_pipeline() { return frontend; }

}  // namespace fc::jit
