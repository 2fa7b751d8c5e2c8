# SPDX-License-Identifier: Apache-2.0
"""One sentence per operator, unless its row in C++ has one: what help(torch.add), the type stubs and editors show above the
signatures; and the signatures that inspect.signature(torch.add) gives.

Read when the first __doc__ is asked for. An operator that works in place (`add_`) or under a second name needs no
entry of its own here.
"""

_SENTENCES = """
adaptive_avg_pool1d Averages over windows chosen so that the result has the given length.
adaptive_avg_pool2d Averages over windows chosen so that the result has the given height and width.
addbmm              beta * input plus alpha times the sum of the products of two batches of matrices.
addcdiv             input + value * tensor1 / tensor2, element by element.
addcmul             input + value * tensor1 * tensor2, element by element.
addmm               beta * input + alpha * (mat1 @ mat2).
addmv               beta * input + alpha * (mat @ vec).
addr                beta * input plus alpha times the outer product of two vectors.
adjoint             A view of the matrices in the last two dimensions, transposed and conjugated.
allclose            Whether all elements of two tensors are equal within rtol and atol.
alpha_dropout       Dropout that keeps mean and variance of a SELU network's activations.
aminmax             The smallest and the largest element, in one pass.
arange              Numbers from start (inclusive) to end (exclusive) in steps of step.
argsort             The indices that sort the tensor along a dimension.
argwhere            The indices of all elements that are not zero, one row each.
as_strided          A view of the same storage with the given sizes, strides and offset.
atleast_1d          The tensor with at least one dimension.
atleast_2d          The tensor with at least two dimensions.
atleast_3d          The tensor with at least three dimensions.
avg_pool1d          Averages over sliding windows of a sequence.
avg_pool2d          Averages over sliding windows of images.
avg_pool3d          Averages over sliding windows of volumes.
baddbmm             beta * input + alpha * (batch1 @ batch2), for each matrix of a batch.
batch_norm          Normalises each channel over the batch by its mean and variance, or by running ones.
bernoulli           0 or 1 for each element, drawn with the element (or p) as probability of 1.
bilinear            A bilinear form of two inputs, plus a bias.
binary_cross_entropy_with_logits  Cross entropy between targets and the sigmoid of the input, computed without overflow.
bincount            How often each non-negative integer occurs, or the sum of its weights.
bmm                 The products of two batches of matrices.
broadcast_tensors   The tensors expanded to their common shape, as views.
broadcast_to        A view of the tensor expanded to a shape.
bucketize           The index of the bucket between sorted boundaries that each element falls into.
cartesian_prod      All combinations of the elements of vectors, one row each.
cat                 The tensors joined along an existing dimension.
cauchy_             Fills the tensor with draws from a Cauchy distribution.
celu                max(0, x) + min(0, alpha * (exp(x / alpha) - 1)), element by element.
chain_matmul        The product of several matrices, in the cheapest order.
chunk               The tensor cut into at most the given number of parts, as views.
clamp               Each element limited to the range from min to max.
clamp_max           Each element limited from above.
clamp_min           Each element limited from below.
clone               A copy of the tensor; gradients flow through it.
col2im              Sums columns of sliding blocks back into images: the inverse walk of im2col.
column_stack        The tensors put side by side as columns.
complex             Complex numbers from real and imaginary parts.
conj                The complex conjugate of each element.
conj_physical       The complex conjugate of each element, written out.
constant_pad_nd     The tensor with a border of one value.
contiguous          The tensor itself if its elements lie in order, otherwise a copy that does.
conv1d              Cross-correlates sequences with a bank of kernels.
conv2d              Cross-correlates images with a bank of kernels.
conv3d              Cross-correlates volumes with a bank of kernels.
conv_transpose1d    The gradient of conv1d with respect to its input, used as an operator.
conv_transpose2d    The gradient of conv2d with respect to its input, used as an operator.
conv_transpose3d    The gradient of conv3d with respect to its input, used as an operator.
convolution         All convolutions in one operator; conv1d to conv_transpose3d call it.
copy_               Copies the elements of another tensor into this one, converting type and device.
cosine_embedding_loss  Pulls pairs of vectors together or apart by the cosine of their angle.
cosine_similarity   The cosine of the angle between vectors along a dimension.
cummax              The largest element so far along a dimension, and its index.
cummin              The smallest element so far along a dimension, and its index.
cumprod             The product of the elements so far along a dimension.
cumsum              The sum of the elements so far along a dimension.
detach              A view of the tensor that no gradient flows through.
diag                The diagonal of a matrix, or a matrix with a vector on its diagonal.
diag_embed          Matrices with the last dimension on their diagonal.
diagonal            A view of the diagonal between two dimensions.
diff                Differences of neighbours along a dimension, n times.
dist                The p-norm of input - other.
dot                 The sum of the products of two vectors.
dropout             Zeroes elements with probability p while training and scales the others up.
dsplit              The tensor cut along its third dimension, as views.
dstack              The tensors joined along the third dimension.
einsum              Sums of products of tensors, by index letters: 'ij,jk->ik' is a matrix product.
elu                 x where it is positive, alpha * (exp(x) - 1) elsewhere.
embedding           The rows of a table that the indices name.
embedding_renorm_   Scales the rows that the indices name down to max_norm where they are longer.
empty               A tensor of the given sizes, its memory not set.
empty_like          A tensor of the same sizes, its memory not set.
empty_strided       A tensor of the given sizes and strides, its memory not set.
equal               Whether two tensors have the same sizes and the same elements.
expand              A view in which dimensions of size 1 repeat.
expand_as           A view expanded to the sizes of another tensor.
exponential_        Fills the tensor with draws from an exponential distribution.
eye                 A matrix with ones on the diagonal and zeros elsewhere.
feature_alpha_dropout  alpha_dropout of whole channels.
feature_dropout     Dropout of whole channels.
fill                A copy of the tensor in which every element is the value.
fill_diagonal_      Sets the main diagonal to a value.
flatten             The dimensions from start_dim to end_dim as one.
flip                The tensor with the order along dimensions reversed.
fliplr              The tensor with the order of columns reversed.
flipud              The tensor with the order of rows reversed.
float_power         input to the power of exponent, computed in double precision.
full                A tensor of the given sizes in which every element is the value.
full_like           A tensor of the same sizes in which every element is the value.
gather              Elements picked along a dimension by an index tensor.
gelu                x times the normal distribution function of x, exactly or by a tanh formula.
geometric_          Fills the tensor with draws from a geometric distribution.
glu                 The first half of a dimension times the sigmoid of the second.
group_norm          Normalises groups of channels of each sample by their mean and variance.
hardshrink          x where it is further than lambd from zero, zero elsewhere.
hardtanh            Each element limited to the range from min_val to max_val.
hinge_embedding_loss  The element itself for target 1, its hinge to the margin for target -1.
hsplit              The tensor cut into parts side by side, as views.
hstack              The tensors joined side by side.
im2col              Sliding blocks of images as columns.
imag                A view of the imaginary parts.
index_add           Adds rows of source to the rows that the index names.
index_copy          Copies rows of source to the rows that the index names.
index_fill          Sets the rows that the index names to a value.
index_put           Sets the elements that a tuple of index tensors names, or adds to them.
index_select        The rows that the index names, along a dimension.
inner               Sums of products over the last dimensions of both tensors.
instance_norm       Normalises each channel of each sample by its mean and variance.
is_nonzero          Whether the one element of the tensor is not zero.
isclose             Whether elements are equal within rtol and atol.
isin                Whether each element occurs among the test elements.
isreal              Whether the imaginary part of each element is zero.
kl_div              The Kullback-Leibler divergence of targets from log probabilities, element by element or reduced.
kron                The Kronecker product.
kthvalue            The k-th smallest element along a dimension, and its index.
layer_norm          Normalises the last dimensions of each sample by their mean and variance.
leaky_relu          x where it is positive, a small multiple of it elsewhere.
lerp                start + weight * (end - start), element by element.
linalg_multi_dot    The product of several matrices, in the cheapest order.
linalg_vector_norm  The p-norm of the elements, over all or some dimensions.
linalg_vander       The rising powers of each element, in a new last dimension.
linear              input @ weight.T + bias.
linspace            The given number of evenly spaced points from start to end, both included.
log_normal_         Fills the tensor with draws whose logarithm is normal.
log_softmax         The logarithm of softmax along a dimension, without overflow.
logcumsumexp        The logarithm of the sum of exponentials so far along a dimension.
logit               log(x / (1 - x)), the inverse of the sigmoid.
logspace            Powers of base whose exponents are evenly spaced from start to end.
logsumexp           The logarithm of the sum of exponentials along dimensions, without overflow.
mH                  A view of the matrices in the last two dimensions, transposed and conjugated.
mT                  A view of the matrices in the last two dimensions, transposed.
margin_ranking_loss Asks that one input is ranked above the other by a margin.
masked_fill         The value where the mask is true, the element elsewhere.
masked_scatter      The elements of source, in order, where the mask is true; the tensor's own elsewhere.
masked_select       The elements where the mask is true, as a vector.
matmul              The matrix product; vectors and batches of matrices too.
matrix_H            A view of the matrix, transposed and conjugated.
max_pool1d          The largest element of each sliding window of a sequence.
max_pool1d_with_indices  max_pool1d, with the place of each largest element.
max_pool2d          The largest element of each sliding window of images.
max_pool3d          The largest element of sliding windows of volumes.
max_pool3d_with_indices  The largest element of sliding windows of volumes, and where it stands.
max_pool2d_with_indices  max_pool2d, with the place of each largest element.
median              The middle element (the lower of two), of all or along a dimension with its index.
meshgrid            Coordinate grids from vectors of coordinates.
mm                  The product of two matrices.
mode                The most frequent element along a dimension, and an index of it.
movedim             A view with some dimensions moved to other places.
msort               The tensor sorted along its first dimension.
multinomial         Indices drawn by the weights in each row.
mv                  The product of a matrix and a vector.
nan_to_num          The tensor with NaN and infinities replaced by numbers.
nanmean             The mean of the elements that are not NaN.
nanmedian           The middle one of the elements that are not NaN.
narrow              A view of length elements from start along a dimension.
native_batch_norm   batch_norm that also returns the mean and the inverse deviation.
native_batch_norm_backward  The gradients of native_batch_norm.
native_dropout      dropout that also returns which elements were kept.
native_group_norm   group_norm that also returns the means and the inverse deviations.
native_group_norm_backward  The gradients of native_group_norm.
native_layer_norm   layer_norm that also returns the means and the inverse deviations.
native_layer_norm_backward  The gradients of native_layer_norm.
new_empty           A tensor of the given sizes and this tensor's type and device, its memory not set.
new_empty_strided   new_empty with strides.
new_full            A tensor of the given sizes and this tensor's type and device, filled with the value.
new_ones            A tensor of ones, of this tensor's type and device.
new_zeros           A tensor of zeros, of this tensor's type and device.
nonzero             The indices of all elements that are not zero, one row each or one vector per dimension.
norm                The p-norm of the elements, over all or some dimensions.
normal              Draws from normal distributions with the given means and deviations.
numpy_T             A view with all dimensions in reverse order.
one_hot             A row of zeros with a one at each class index.
ones                A tensor of ones.
ones_like           A tensor of ones with the same sizes.
outer               The products of every element of one vector with every element of another.
pad                 The tensor with a border: of a value, or reflected, replicated or wrapped from inside.
permute             A view with the dimensions in another order.
poisson_nll_loss    The negative log likelihood of counts under a Poisson distribution.
polar               Complex numbers from magnitude and angle.
polygamma           The n-th derivative of the digamma function.
positive            The tensor itself; +x.
pow                 input to the power of exponent, element by element.
prelu               x where it is positive, a learned multiple of it elsewhere.
put                 Sets elements by their index in the flattened tensor, or adds to them.
rand                Uniform random numbers from 0 (inclusive) to 1 (exclusive).
rand_like           Uniform random numbers with the same sizes.
randint             Random integers from low (inclusive) to high (exclusive).
randint_like        Random integers with the same sizes.
randn               Standard normal random numbers.
randn_like          Standard normal random numbers with the same sizes.
random_             Fills the tensor with random integers.
randperm            The integers from 0 to n - 1 in random order.
ravel               The tensor as a vector, a view where possible.
real                A view of the real parts.
reflection_pad1d    Sequences with a border mirrored from inside.
reflection_pad2d    Images with a border mirrored from inside.
reflection_pad3d    Volumes with a border mirrored from inside.
relu6               Each element limited to the range from 0 to 6.
repeat              The tensor copied several times along each dimension.
repeat_interleave   Each element repeated in place.
replication_pad1d   Sequences with a border that repeats the edge.
replication_pad2d   Images with a border that repeats the edge.
replication_pad3d   Volumes with a border that repeats the edge.
reshape             The same elements with other sizes, a view where possible.
reshape_as          The same elements with the sizes of another tensor.
resize_             Gives the tensor other sizes, with more storage if it needs it.
resize_as_          Gives the tensor the sizes of another.
resolve_conj        The tensor with conjugation carried out.
resolve_neg         The tensor with negation carried out.
rms_norm            Divides the last dimensions of each sample by their root mean square.
roll                The tensor shifted along dimensions; what leaves at the end enters at the start.
rot90               The tensor turned by 90 degrees in the plane of two dimensions, k times.
scalar_tensor       A tensor without dimensions that holds a number.
scaled_dot_product_attention  softmax(query @ key.T / sqrt(size)) @ value, with mask and dropout.
scatter             Writes elements of src to the places along a dimension that the index names.
scatter_add         Adds elements of src at the places along a dimension that the index names.
scatter_reduce      Reduces elements of src into the places along a dimension that the index names.
searchsorted        Where each value would be inserted into sorted sequences.
select              A view of one index along a dimension.
selu                An elu scaled so that activations keep mean and variance.
set_                Makes the tensor use another storage, sizes and strides.
softmax             Exponentials divided by their sum along a dimension.
softplus            log(1 + exp(beta x)) / beta, a smooth relu.
softshrink          x moved towards zero by lambd.
sort                The tensor sorted along a dimension, and the indices that sort it.
split               The tensor cut into parts of the given sizes, as views.
split_with_sizes    The tensor cut into parts of the given sizes, as views.
squeeze             A view without dimensions of size 1.
stack               The tensors joined along a new dimension.
std                 The standard deviation of all elements or along dimensions.
std_mean            The standard deviation and the mean.
t                   A view of a matrix, transposed.
take                Elements picked by their index in the flattened tensor.
take_along_dim      Elements picked along a dimension by an index tensor that broadcasts.
tensor_split        The tensor cut into parts as equal as possible, or at the given indices, as views.
tensordot           Sums of products over the given dimensions of both tensors.
threshold           x where it is above the threshold, the value elsewhere.
tile                The tensor repeated along each dimension.
to                  The tensor with another element type, device or memory format; itself if nothing changes.
topk                The k largest or smallest elements along a dimension, and their indices.
trace               The sum of a matrix's diagonal.
transpose           A view with two dimensions exchanged.
tril                The lower triangle of matrices, zeros above.
tril_indices        The row and column indices of a lower triangle.
triplet_margin_loss Asks that an anchor is closer to the positive than to the negative by a margin.
triu                The upper triangle of matrices, zeros below.
triu_indices        The row and column indices of an upper triangle.
unbind              Views of all indices along a dimension.
unflatten           A view with one dimension cut into several.
unfold              A view of sliding windows along a dimension.
uniform_            Fills the tensor with uniform random numbers between two bounds.
unsqueeze           A view with a new dimension of size 1.
upsample_bilinear2d Images resized by linear interpolation of four neighbours.
upsample_linear1d   Sequences resized by linear interpolation of two neighbours.
upsample_nearest1d  Sequences resized by repeating the nearest element.
upsample_nearest2d  Images resized by repeating the nearest element.
upsample_nearest3d  Volumes resized by repeating the nearest element.
upsample_trilinear3d  Volumes resized by linear interpolation of eight neighbours.
vander              The matrix of the powers of a vector's elements, falling unless increasing.
var                 The variance of all elements or along dimensions.
var_mean            The variance and the mean.
vdot                The sum of the products of two vectors, the first conjugated.
view                The same elements with other sizes or another type, without copying.
view_as             A view with the sizes of another tensor.
view_as_complex     Pairs of real numbers in the last dimension seen as complex numbers.
view_as_real        Complex numbers seen as pairs of real numbers in a new last dimension.
vsplit              The tensor cut into parts above each other, as views.
vstack              The tensors joined above each other.
where               Elements of input where the condition holds, of other elsewhere.
zero_               Sets every element to zero.
zeros               A tensor of zeros.
zeros_like          A tensor of zeros with the same sizes.
"""

# Second names.
_SAME = """
absolute=abs arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctan2=atan2 arctanh=atanh clip=clamp
concat=cat concatenate=cat divide=div fix=trunc ger=outer greater=gt greater_equal=ge less=lt less_equal=le
moveaxis=movedim multiply=mul negative=neg not_equal=ne row_stack=vstack subtract=sub swapaxes=transpose
swapdims=transpose true_divide=div special_expit=sigmoid special_gammaln=lgamma special_psi=digamma
"""


_rows = dict(line.split(maxsplit=1) for line in _SENTENCES.strip().splitlines())
_same = dict(pair.split("=") for pair in _SAME.split())


def _told(name):
    """What this file or the operator's own row says, or None."""
    from facula import _C

    return _rows.get(name) or _C._operator_doc(f"aten::{name}")


def docstring(name):
    """What the operator does, or None."""
    if known := _same.get(name):
        return f"Another name for {known.removeprefix('special_')}. {_told(known)}"
    if told := _told(name):
        return told
    if name.startswith(("special_", "linalg_")) and (told := docstring(name.partition("_")[2])):
        return told
    if name.endswith("_") and (told := docstring(name[:-1])):
        return f"{name[:-1]}, written into the tensor itself. {told}"
    return None


def function_signature(base, method):
    """The signature of torch.<name> or Tensor.<name>, of all overloads together."""
    from facula import _C

    found = [_C._find_operator(f"{base}.{o}" if o else base) for o in _C._overloads(base)]
    return signature([op for op in found if not (method and op.is_out)] or found, method)


def signature(operators, method=None):
    """One inspect.Signature for operators of one name. method: None for the schema's own names, as torch.ops has them."""
    from inspect import Parameter, Signature
    from keyword import iskeyword

    def parameters(op):
        """([by position], [by keyword])"""
        positional, keywords = [], []
        n = sum(not a.kwarg_only for a in op._schema.arguments)
        for i, a in enumerate(op._schema.arguments):
            name = "input" if a.name == "self" and method is False else a.name + "_" * iskeyword(a.name)
            kind, default = Parameter.POSITIONAL_OR_KEYWORD, a.default_value if a.has_default_value() else Parameter.empty
            if a.kwarg_only:
                kind = Parameter.KEYWORD_ONLY
                if a.is_write and method is not None:
                    name, default = "out", None  # a tuple where there are several
            elif method is not None and n == i + 1 == method + 1 and a.type.startswith("int["):
                kind, default = Parameter.VAR_POSITIONAL, Parameter.empty  # x.view(2, 3), torch.zeros(2, 3)
            (keywords if a.kwarg_only else positional).append(Parameter(name, kind, default=default))
        if method is False and {"dtype", "layout", "pin_memory"} <= {p.name for p in keywords}:
            keywords.append(Parameter("requires_grad", Parameter.KEYWORD_ONLY, default=False))
        return positional, keywords

    forms = [parameters(op) for op in operators]
    names = [[p.name for p in positional] for positional, _ in forms]
    longest = max((positional for positional, _ in forms), key=len)
    if any(n != [p.name for p in longest[: len(n)]] for n in names):  # forms that differ: what they share
        shared = [p for p, *others in zip(longest, *names) if all(o == p.name for o in others)]
        return Signature([*shared, Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)])
    always, result = min(map(len, names)), []
    for i, p in enumerate(longest):
        must = p.default is p.empty and p.kind != p.VAR_POSITIONAL
        optional = i >= always or (result and result[-1].default is not p.empty)
        result.append(p.replace(default=None) if must and optional else p)
    keywords = {}
    for p in (p for _, by_keyword in forms for p in by_keyword if p.name not in {r.name for r in result}):
        everywhere = all(any(q.name == p.name for q in by_keyword) for _, by_keyword in forms)
        keywords[p.name] = p if everywhere or p.default is not p.empty else p.replace(default=None)
    return Signature([*result, *keywords.values()])
