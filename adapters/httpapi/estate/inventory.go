package estate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/writ-automation/writ/adapters/httpapi"
)

// InventoryInput selects hosts.
type InventoryInput struct {
	Query string `query:"q" maxLength:"4096" doc:"Only hosts whose newest facts fit, such as os.family=Debian and mounts./.free_gb<5. The guide host-queries has the language. All hosts if absent."`
}

// InventoryBody is an inventory as Ansible's script plugin reads it.
type InventoryBody struct {
	Meta InventoryMeta  `json:"_meta"`
	All  InventoryGroup `json:"all"`
}

// InventoryMeta has the variables of hosts.
type InventoryMeta struct {
	HostVars map[string]map[string]any `json:"hostvars" doc:"By host: writ_facts, and variables of the connection that the stored inventory has."`
}

// InventoryGroup is the group of all hosts.
type InventoryGroup struct {
	Hosts []string `json:"hosts" doc:"By name."`
}

func (h *handlers) inventory(r *httpapi.Router) {
	httpapi.Handle(r, httpapi.Route{
		Method: http.MethodGet, Path: "/v1/estate/inventory", ID: "get-estate-inventory", Tag: tag,
		Summary: "Read the hosts whose facts fit as an inventory for Ansible",
		Description: "The JSON form of a script. writ_facts has the facts with short names, their texts marked as never a " +
			"template. Of the stored inventory that a host was gathered with there are ansible_host, ansible_port, " +
			"ansible_user, ansible_connection and ansible_python_interpreter, if the caller may read it and they are plain " +
			"values. The answer is streamed; it is cut off if it fails midway.",
		Access: httpapi.Needs("estate", "read"), Status: http.StatusOK,
		Example: InventoryBody{InventoryMeta{map[string]map[string]any{"web1": {"ansible_host": "192.0.2.7"}}},
			InventoryGroup{[]string{"web1"}}},
		Errors: []int{http.StatusServiceUnavailable},
	}, func(_ context.Context, in *InventoryInput) (*httpapi.StreamOutput, error) {
		return written(r, func(ctx context.Context, w io.Writer) error { return h.writeInventory(ctx, w, in.Query) }), nil
	})
}

// writeInventory keeps the names of the hosts, which follow their variables.
func (h *handlers) writeInventory(ctx context.Context, w io.Writer, query string) error {
	out := bufio.NewWriterSize(w, piece)
	_, _ = out.WriteString(`{"_meta":{"hostvars":{`)
	names := []string{}
	err := h.Queries.Inventory(ctx, query, func(host string, vars map[string]any) error {
		name, err := httpapi.Encode(host)
		if err != nil {
			return fmt.Errorf("encode a host: %w", err)
		}
		text, err := httpapi.Encode(vars)
		if err != nil {
			return fmt.Errorf("encode the variables of a host: %w", err)
		}
		if len(names) > 0 {
			_ = out.WriteByte(',')
		}
		names = append(names, host)
		_, err = fmt.Fprintf(out, "%s:%s", name, text)
		return err
	})
	if err != nil {
		return err
	}
	text, err := httpapi.Encode(names)
	if err != nil {
		return fmt.Errorf("encode the hosts: %w", err)
	}
	_, _ = fmt.Fprintf(out, "}},\"all\":{\"hosts\":%s}}\n", text)
	return out.Flush()
}
