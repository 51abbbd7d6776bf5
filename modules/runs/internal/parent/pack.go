package parent

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"slices"
	"time"
)

// Pack divides hosts over at most n shards of similar expected time. It takes the longest host first, and adds it to
// the least loaded shard. A host without a mean counts as the average of the others. The result does not depend on
// the order of the hosts. No shard is empty, so that there are never more shards than hosts.
func Pack(hosts []string, means map[string]time.Duration, n int) [][]string {
	hosts = slices.Compact(slices.Sorted(slices.Values(hosts)))
	n = min(n, len(hosts))
	if n <= 0 {
		return nil
	}
	order := weigh(hosts, means)
	shards := make([][]string, n)
	h := make(loads, n)
	for i := range h {
		h[i] = load{shard: i}
	}
	for _, w := range order {
		i := h[0].shard
		shards[i] = append(shards[i], w.host)
		h[0].sum += w.weight
		h[0].hosts++
		heap.Fix(&h, 0)
	}
	for i := range shards {
		slices.Sort(shards[i])
	}
	return shards
}

type weighed struct {
	host   string
	weight time.Duration
	tie    uint32
}

// weigh sorts the hosts by falling weight. Hosts of equal weight are sorted by a hash of the name: neighbours in an
// inventory, which tend to be similar, spread over the shards, and each host gets the same shard in every run.
func weigh(hosts []string, means map[string]time.Duration) []weighed {
	var sum, known time.Duration
	for _, h := range hosts {
		if m, ok := means[h]; ok && m > 0 {
			sum += m
			known++
		}
	}
	fallback := time.Second
	if known > 0 {
		fallback = sum / known
	}
	out := make([]weighed, len(hosts))
	for i, h := range hosts {
		w := means[h]
		if w <= 0 {
			w = fallback
		}
		f := fnv.New32a()
		_, _ = f.Write([]byte(h))
		out[i] = weighed{host: h, weight: w, tie: f.Sum32()}
	}
	slices.SortFunc(out, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.tie, b.tie), cmp.Compare(a.host, b.host))
	})
	return out
}

type load struct {
	sum   time.Duration
	hosts int
	shard int
}

type loads []load

func (l loads) Len() int      { return len(l) }
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l loads) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].sum, l[j].sum), cmp.Compare(l[i].hosts, l[j].hosts),
		cmp.Compare(l[i].shard, l[j].shard)) < 0
}

// Push is never called, since the number of shards is fixed.
func (l *loads) Push(x any) { *l = append(*l, x.(load)) }

// Pop is never called, since the number of shards is fixed.
func (l *loads) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}
