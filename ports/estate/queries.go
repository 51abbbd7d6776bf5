package estate

import "context"

// HostQueries selects hosts by their facts, among those that the caller may see. The guide host-queries has the
// language.
type HostQueries interface {
	// Inventory calls yield with the hosts whose newest facts a query fits, by name, and their variables for Ansible as
	// far as the caller may read them. Errors: an Invalid fault names q; those of yield.
	Inventory(ctx context.Context, query string, yield func(host string, vars map[string]any) error) error
	// Check returns what is wrong with a query: an Invalid fault that names q.
	Check(query string) error
	// Select returns the same hosts, with the stored inventory of the run that gathered the facts of each.
	Select(ctx context.Context, query string) ([]SelectedHost, error)
}

// SelectedHost is a host that a query selects. InventoryID is empty if the run named no stored inventory.
type SelectedHost struct{ Host, InventoryID string }

// FactsVariable is the variable of an inventory that has the facts of a host, by the short names of the language.
const FactsVariable = "writ_facts"

// ConnectionVariables lists the variables of stored inventories that an inventory of the estate has too.
func ConnectionVariables() []string {
	return []string{"ansible_host", "ansible_port", "ansible_user", "ansible_connection", "ansible_python_interpreter"}
}
