package shell

// CredentialKind returns the words for a kind of credentials.
func CredentialKind(kind string) string {
	switch kind {
	case "ssh_key":
		return "SSH key"
	case "ssh_password":
		return "SSH password"
	case "vault_password":
		return "Ansible Vault password"
	case "become_password":
		return "Password for become"
	case "become":
		return "Become"
	case "network":
		return "Network device"
	case "env":
		return "Environment variables"
	case "token":
		return "Token"
	case "registry":
		return "Container registry"
	case "aws":
		return "Amazon Web Services"
	case "azure":
		return "Microsoft Azure"
	case "gcp":
		return "Google Cloud"
	case "vmware":
		return "VMware"
	case "openstack":
		return "OpenStack"
	case "custom":
		return "Custom type"
	}
	return Words(kind)
}
