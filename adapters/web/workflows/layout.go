package workflows

import (
	"cmp"
	"slices"
)

// Vertex is a step in the layout. After are the indices of the steps that it depends on.
type vertex struct {
	After []int
	Depth int // the column
	Row   int // the place in the column
	// Longest marks a step of the longest path.
	Longest bool
}

// arrange places the steps of a graph without circles in columns by depth, so that edges lead to the right, and orders
// each column by the middle of what its steps depend on. It marks the longest path. Steps that a circle would hold, of
// which a stored graph has none, stay in the first column.
func arrange(after [][]int) []vertex {
	out := make([]vertex, len(after))
	order := topological(after)
	for i := range out {
		out[i].After = after[i]
	}
	for _, i := range order {
		for _, d := range after[i] {
			out[i].Depth = max(out[i].Depth, out[d].Depth+1)
		}
	}
	columns := [][]int{}
	for i := range out {
		for len(columns) <= out[i].Depth {
			columns = append(columns, nil)
		}
		columns[out[i].Depth] = append(columns[out[i].Depth], i)
	}
	for range 3 { // each pass moves rows nearer to what they depend on
		for _, column := range columns {
			slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(middle(out, a), middle(out, b)) })
			for row, i := range column {
				out[i].Row = row
			}
		}
	}
	markLongest(out, order)
	return out
}

// middle returns the mean row of what a step depends on.
func middle(all []vertex, i int) float64 {
	if len(all[i].After) == 0 {
		return float64(i) / float64(len(all))
	}
	sum := 0
	for _, d := range all[i].After {
		sum += all[d].Row
	}
	return float64(sum) / float64(len(all[i].After))
}

// topological returns the steps so that each follows what it depends on.
func topological(after [][]int) []int {
	waits := make([]int, len(after))
	before := make([][]int, len(after))
	for i, deps := range after {
		waits[i] = len(deps)
		for _, d := range deps {
			before[d] = append(before[d], i)
		}
	}
	var order []int
	for i, n := range waits {
		if n == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, next := range before[order[at]] {
			if waits[next]--; waits[next] == 0 {
				order = append(order, next)
			}
		}
	}
	return order
}

// markLongest marks one path with the most steps.
func markLongest(all []vertex, order []int) {
	last := -1
	for _, i := range order {
		if last < 0 || all[i].Depth > all[last].Depth {
			last = i
		}
	}
	for last >= 0 {
		all[last].Longest = true
		next := -1
		for _, d := range all[last].After {
			if all[d].Depth == all[last].Depth-1 {
				next = d
				break
			}
		}
		last = next
	}
}
