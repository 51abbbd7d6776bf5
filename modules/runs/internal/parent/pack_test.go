package parent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/runs"
)

func TestPackBalancesByMeanTime(t *testing.T) {
	t.Parallel()
	means := map[string]time.Duration{"slow": 10 * time.Second, "a": 3 * time.Second, "b": 3 * time.Second,
		"c": 4 * time.Second}
	got := Pack([]string{"a", "b", "c", "slow"}, means, 2)
	slices.SortFunc(got, func(a, b []string) int { return len(a) - len(b) })
	if diff := cmp.Diff([][]string{{"slow"}, {"a", "b", "c"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackWithoutHostsMakesNoShard(t *testing.T) {
	t.Parallel()
	if got := Pack(nil, nil, 4); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestPackIsAPartition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfN(rapid.StringMatching(`h[0-9]{1,2}`), 0, 60).Draw(t, "hosts")
		n := rapid.IntRange(0, 20).Draw(t, "n")
		means := map[string]time.Duration{}
		for _, h := range hosts {
			if rapid.Bool().Draw(t, "known") {
				means[h] = time.Duration(rapid.IntRange(1, 1000).Draw(t, "ms")) * time.Millisecond
			}
		}
		want := slices.Compact(slices.Sorted(slices.Values(hosts)))
		got := Pack(hosts, means, n)
		if len(got) != min(n, len(want)) {
			t.Fatalf("%d shards of %d hosts for n=%d", len(got), len(want), n)
		}
		var all []string
		for _, s := range got {
			if len(s) == 0 {
				t.Fatal("an empty shard")
			}
			all = append(all, s...)
		}
		slices.Sort(all)
		if n > 0 && !slices.Equal(all, want) {
			t.Fatalf("hosts %v, want %v", all, want)
		}
		slices.Reverse(hosts)
		if diff := cmp.Diff(got, Pack(hosts, means, n)); diff != "" {
			t.Fatalf("depends on the order:\n%s", diff)
		}
	})
}

func TestPackNeverLoadsOneShardFarAboveTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		means := map[string]time.Duration{}
		var hosts []string
		var longest time.Duration
		for i := range rapid.IntRange(1, 80).Draw(t, "hosts") {
			h := fmt.Sprint("h", i)
			hosts = append(hosts, h)
			means[h] = time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond
			longest = max(longest, means[h])
		}
		low, high := time.Duration(1<<62), time.Duration(0)
		for _, s := range Pack(hosts, means, rapid.IntRange(1, 10).Draw(t, "n")) {
			var sum time.Duration
			for _, h := range s {
				sum += means[h]
			}
			low, high = min(low, sum), max(high, sum)
		}
		if high-low > longest {
			t.Fatalf("loads from %v to %v, longest host %v", low, high, longest)
		}
	})
}

func TestMergeShards(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	warn := runs.Warning{Code: runs.WarnHostsUnreachable, Message: "one"}
	idle := runs.Warning{Code: runs.WarnNoHostsMatched, Message: "no host"}
	got := MergeShards([]*runs.Run{
		{Status: runs.Failed, EndedAt: at.Add(time.Second), HostsTouched: 2, Warnings: []runs.Warning{warn},
			Hosts: runs.HostCounts{runs.HostOK: 1, runs.HostFailed: 1}, Outputs: runs.Vars{"v": []byte(`"late"`)}},
		{Status: runs.Succeeded, EndedAt: at, HostsTouched: 1, Warnings: []runs.Warning{warn},
			Hosts: runs.HostCounts{runs.HostOK: 1}, Outputs: runs.Vars{"v": []byte(`"early"`), "w": []byte(`1`)}},
		{Status: runs.Succeeded, EndedAt: at, Warnings: []runs.Warning{idle}},
	})
	want := runs.Move{
		To: runs.Failed, Error: "of 3 shards: 1 failed", Touched: 3,
		Counts:  runs.HostCounts{runs.HostOK: 2, runs.HostFailed: 1},
		Outputs: runs.Vars{"v": []byte(`"late"`), "w": []byte(`1`)},
		Warnings: []runs.Warning{warn, {Code: WarnOutputsConflict,
			Message: "shards set different values, the last to finish wins: v"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFailedShardsLeavesCanceledOnesOut(t *testing.T) {
	t.Parallel()
	shard := func(s runs.Status, hosts ...string) *runs.Run {
		return &runs.Run{Status: s, Spec: runs.Spec{LimitHosts: hosts}}
	}
	got := FailedShards([]*runs.Run{shard(runs.Failed, "a"), shard(runs.Succeeded, "b"), shard(runs.Canceled, "c"),
		shard(runs.Interrupted, "d")})
	if diff := cmp.Diff([][]string{{"a"}, {"d"}}, got); diff != "" {
		t.Error(diff)
	}
}
