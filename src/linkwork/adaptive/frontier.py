"""The open top of the assembly tree, and the frontier below it.

Open nodes are an ascending list (children before parents), of which the last ones may not be sorted in yet. The frontier is
a heap, largest key first: what a node may hide, or another measure of how much it matters.
"""

from linkwork.adaptive.workspace import HEAP_COUNT, OPEN, OPEN_COUNT, SORTED_COUNT
from linkwork.core.jit import inlined, routine


@inlined
def open_node(run, node):
    """Puts a node on the list of open ones, once."""
    if run.flag[node] & OPEN == 0:
        run.flag[node] |= OPEN
        run.opened[run.counts[OPEN_COUNT]] = node
        run.counts[OPEN_COUNT] += 1


@routine
def sort_open(opened, spare, count):
    """Merges the nodes opened since the last sort into the ascending list. `spare` is any array as long as the tail."""
    done = count[SORTED_COUNT]
    total = count[OPEN_COUNT]
    if done == total:
        return
    heap_sort(opened, done, total - done)
    merge(opened, done, total, spare)
    count[SORTED_COUNT] = total


@inlined
def merge(a, done, total, spare):
    """Makes one ascending list of a[:done] and a[done:total], which are ascending. spare: as long as the second."""
    length = total - done
    for k in range(length):
        spare[k] = a[done + k]
    write = total - 1
    first = done - 1
    second = length - 1
    while second >= 0:
        if first >= 0 and a[first] > spare[second]:
            a[write] = a[first]
            first -= 1
        else:
            a[write] = spare[second]
            second -= 1
        write -= 1


@routine
def heap_sort(a, first, length):
    """Sorts a[first : first + length] in place, in O(length log length), without memory."""
    for start in range(length // 2 - 1, -1, -1):
        sift(a, first, start, length)
    for end in range(length - 1, 0, -1):
        a[first], a[first + end] = a[first + end], a[first]
        sift(a, first, 0, end)


@inlined
def sift(a, first, top, length):
    value = a[first + top]
    while True:
        child = 2 * top + 1
        if child >= length:
            break
        if child + 1 < length and a[first + child + 1] > a[first + child]:
            child += 1
        if a[first + child] <= value:
            break
        a[first + top] = a[first + child]
        top = child
    a[first + top] = value


@inlined
def push(heap, key, counts, node):
    """Adds a node to the heap."""
    k = counts[HEAP_COUNT]
    counts[HEAP_COUNT] = k + 1
    while k > 0:
        up = (k - 1) // 2
        if not precedes(key, node, heap[up]):
            break
        heap[k] = heap[up]
        k = up
    heap[k] = node


@inlined
def precedes(key, a, b):
    """Larger keys first; equal ones by number, so that the order never depends on history."""
    return key[a] > key[b] or (key[a] == key[b] and a > b)


@inlined
def pop(heap, key, counts):
    """Takes the node with the largest key."""
    top = heap[0]
    n = counts[HEAP_COUNT] - 1
    counts[HEAP_COUNT] = n
    if n > 0:
        node = heap[n]
        k = 0
        while True:
            child = 2 * k + 1
            if child >= n:
                break
            if child + 1 < n and precedes(key, heap[child + 1], heap[child]):
                child += 1
            if not precedes(key, heap[child], node):
                break
            heap[k] = heap[child]
            k = child
        heap[k] = node
    return top
