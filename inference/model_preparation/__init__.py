"""How a model folder comes to be: where its bytes are, how they are checked, how converted.

``inference.model_store`` is the door; nothing else imports from here. torch and transformers are
imported only in ``convert``, which runs as a process of its own.
"""
