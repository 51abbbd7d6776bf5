package secrets

// Kinds lists the built-in kinds in the order of the reference.
func Kinds() []Kind {
	return []Kind{
		SSHKey, SSHPassword, VaultPassword, BecomePassword, Become, Network, Env, Token, Registry, AWS, Azure, GCP, VMware,
		OpenStack,
	}
}

// Members returns the members of a credential of a built-in kind, the secret ones first, or nil for any other kind.
func (k Kind) Members() []Member {
	switch k {
	case SSHKey:
		return []Member{
			need("private_key", Multiline, "A private key in a form that OpenSSH reads."),
			hide("passphrase", "Of an encrypted key."), show("username", "The account on the hosts."),
		}
	case SSHPassword:
		return []Member{need("password", Text, "Of the account on the hosts."), show("username", "The account on the hosts.")}
	case VaultPassword:
		return []Member{need("password", Text, "Of Ansible Vault."),
			show("vault_id", "The vault id that it opens; default where absent.")}
	case BecomePassword:
		return []Member{need("password", Text, "Asked for by become.")}
	case Become:
		return []Member{
			need("password", Text, "Asked for by become."), show("method", "How to become: sudo, su, doas, ..."),
			show("username", "Whom to become."),
		}
	case Network:
		return []Member{
			need("password", Text, "Of the account on the devices."), hide("authorize_password", "Of the privileged mode."),
			show("username", "The account on the devices."), show("network_os", "The platform, as ansible_network_os."),
		}
	case Env:
		return []Member{need("vars", Object, "Environment variables: an object of strings.")}
	case Token:
		return []Member{need("token", Text, "The token."),
			show("env_name", "The environment variable that gets it; TOKEN where absent.")}
	default:
		return k.cloud()
	}
}

// cloud returns the members of the kinds for cloud accounts.
func (k Kind) cloud() []Member {
	switch k {
	case Registry:
		return []Member{
			need("password", Text, "Of the account."), show("username", "The account."),
			show("server", "The registry as images name it; docker.io where absent."),
		}
	case AWS:
		return []Member{
			need("secret_access_key", Text, "Of the access key."), hide("session_token", "Of temporary access keys."),
			show("access_key_id", "The access key."), show("region", "The region."),
		}
	case Azure:
		return []Member{
			need("client_secret", Text, "Of the application."), show("client_id", "The application."),
			show("tenant_id", "The directory."),
			show("subscription_id", "The subscription."),
		}
	case GCP:
		return []Member{need("service_account_json", Object, "The service account's key file."),
			show("project", "The project.")}
	case VMware:
		return []Member{
			need("password", Text, "Of the account."), show("username", "The account."),
			show("server", "The vCenter or ESXi host."),
			{Name: "validate_certs", Type: Bool, Doc: "Whether its certificate is checked."},
		}
	case OpenStack:
		return []Member{
			need("password", Text, "Of the account."), show("auth_url", "The identity service."),
			show("username", "The account."),
			show("project_name", "The project."), show("domain_name", "The domain of both."), show("region", "The region."),
		}
	default:
		return nil
	}
}

func need(name string, t FieldType, doc string) Member {
	return Member{Name: name, Secret: true, Required: true, Type: t, Doc: doc}
}

func hide(name, doc string) Member { return Member{Name: name, Secret: true, Type: Text, Doc: doc} }

func show(name, doc string) Member { return Member{Name: name, Type: Text, Doc: doc} }
