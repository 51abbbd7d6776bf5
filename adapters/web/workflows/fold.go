package workflows

import (
	"fmt"
	"slices"
)

const (
	// foldFrom is the most steps that are drawn one by one.
	foldFrom = 60
	// least is the fewest steps that become one box.
	least = 3
	// maxRounds bounds how far equal shapes are looked for.
	maxRounds = 32
)

// fold returns the boxes of a graph: the steps of each, both in topological order. Steps of equal state become one box
// if they have the same place among the others, or form a chain. Steps that open names keep boxes of their own, with
// all that would be in their box.
func fold(steps []step, order []int, open []string) [][]int {
	before := make([][]int, len(steps))
	for i := range steps {
		for _, d := range steps[i].After {
			before[d] = append(before[d], i)
		}
	}
	named := func(i int) bool { return slices.Contains(open, steps[i].Spec.Name) }
	class := classes(steps, order, before)
	members := map[int][]int{}
	for _, i := range order {
		members[class[i]] = append(members[class[i]], i)
	}
	alike := func(i int) bool { return len(members[class[i]]) >= least }
	// next returns the step of the same state that follows one in a chain.
	next := func(i int) (int, bool) {
		if len(before[i]) != 1 {
			return 0, false
		}
		n := before[i][0]
		return n, len(steps[n].After) == 1 && steps[n].Status == steps[i].Status && !alike(n)
	}
	var out [][]int
	done := make([]bool, len(steps))
	for _, i := range order {
		if done[i] {
			continue
		}
		group := members[class[i]]
		if !alike(i) {
			group = []int{i}
			for n, ok := next(i); ok; n, ok = next(n) {
				group = append(group, n)
			}
		}
		if len(group) < least || slices.ContainsFunc(group, named) {
			for _, m := range group {
				out = append(out, []int{m})
			}
		} else {
			out = append(out, group)
		}
		for _, m := range group {
			done[m] = true
		}
	}
	return out
}

// classes gives steps of equal shape the same number: those of one state, as deep and as high in the graph, which
// depend on equal steps and on which equal steps depend.
func classes(steps []step, order []int, before [][]int) []int {
	height := make([]int, len(steps))
	for _, i := range slices.Backward(order) {
		for _, d := range steps[i].After {
			height[d] = max(height[d], height[i]+1)
		}
	}
	class, count := make([]int, len(steps)), 0
	key := func(i int) string { return fmt.Sprint(steps[i].Status, steps[i].Depth, height[i]) }
	for range maxRounds {
		numbers, now := map[string]int{}, make([]int, len(steps))
		for i := range steps {
			k := key(i)
			if _, ok := numbers[k]; !ok {
				numbers[k] = len(numbers)
			}
			now[i] = numbers[k]
		}
		class = now
		if len(numbers) == count {
			break
		}
		count = len(numbers)
		key = func(i int) string { return fmt.Sprint(class[i], kinds(class, steps[i].After), kinds(class, before[i])) }
	}
	return class
}

// kinds returns the classes of steps, each once.
func kinds(class, steps []int) []int {
	out := make([]int, len(steps))
	for n, i := range steps {
		out[n] = class[i]
	}
	slices.Sort(out)
	return slices.Compact(out)
}
