// Package inject computes what one opened credential adds to a run, and merges several of them. It calls no other
// service and has no state.
package inject
